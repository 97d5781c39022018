"""Two outputs of different types."""
import torch
import torch.nn as nn


class Model(nn.Module):
    """The largest value of each row, and where it is."""

    def forward(self, x):
        return torch.max(x, dim=-1)


batch_size = 128
rows = 64
cols = 777


def get_inputs():
    return [torch.randn(batch_size, rows, cols)]


def get_init_inputs():
    return []
