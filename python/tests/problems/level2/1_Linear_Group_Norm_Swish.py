"""Groups that features must be a multiple of."""
import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer, group norm, swish and a learned scale."""

    def __init__(self, in_features, out_features, num_groups):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.norm = nn.GroupNorm(num_groups, out_features)
        self.scale = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        x = self.norm(self.linear(x))
        return x * torch.sigmoid(x) * self.scale


batch_size = 1024
in_features = 2048
out_features = 4096
num_groups = 32


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, num_groups]
