"""Extents after a stride, a height that is also the width."""
import torch
import torch.nn as nn


class Model(nn.Module):
    """A strided, padded convolution without bias."""

    def __init__(self, in_channels, out_channels, kernel_size, stride):
        super(Model, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=2, bias=False)

    def forward(self, x):
        return self.conv(x)


batch_size = 16
in_channels = 32
out_channels = 48
kernel_size = 5
stride = 3
height = width = 130


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride]
