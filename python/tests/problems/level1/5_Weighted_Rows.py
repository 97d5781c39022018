"""Two sizes that have to be equal, and numbers that are no names."""
import torch
import torch.nn as nn


class Model(nn.Module):
    """Rows weighted by -1, 0 or 1, then the mean."""

    def forward(self, x, weight):
        return torch.mean(torch.clamp(1 - x * weight, min=0))


def get_inputs():
    return [torch.rand(512, 512), torch.randint(0, 2, (512,)).float() * 2 - 1]


def get_init_inputs():
    return []
