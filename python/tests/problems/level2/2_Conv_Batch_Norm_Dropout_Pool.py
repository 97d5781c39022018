"""Batch norm with the batch's own statistics, and dropout in training mode."""
import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolution, batch norm, dropout, ReLU in place, and max pooling."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        self.norm = nn.BatchNorm2d(out_channels)
        self.dropout = nn.Dropout(0.3)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return self.pool(self.relu(self.dropout(self.norm(self.conv(x)))))


batch_size = 32
in_channels = 3
out_channels = 64
height = 128
width = 96


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]
