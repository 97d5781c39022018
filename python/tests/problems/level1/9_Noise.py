"""Cannot be a task: it draws random numbers."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        y = x * 2
        return y + torch.randn_like(x)


def get_inputs():
    return [torch.rand(64, 64)]


def get_init_inputs():
    return []
