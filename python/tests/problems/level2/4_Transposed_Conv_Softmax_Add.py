"""A transposed convolution in three dimensions, a bias with a shape of its own."""
import torch
import torch.nn as nn


class Model(nn.Module):
    """ConvTranspose3d, mean over depth, bias, softmax over channels."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, bias_shape):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride, padding=1)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        x = self.conv(x).mean(dim=2, keepdim=True) + self.bias
        return torch.softmax(x, dim=1)


batch_size = 8
in_channels = 16
out_channels = 24
kernel_size = 3
stride = 2
depth, height, width = 16, 32, 40
bias_shape = (1, out_channels, 1, 1, 1)


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, bias_shape]
