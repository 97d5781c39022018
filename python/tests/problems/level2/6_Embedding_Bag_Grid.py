"""Indices below a fixed limit, grid_sample, in-place assignment to a part."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Embedded words move an image; its first row is cleared."""

    def __init__(self, words, width):
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.shift = nn.Linear(width, 2)

    def forward(self, image, tokens):
        shift = torch.tanh(self.shift(self.table(tokens).mean(1)))
        grid = F.affine_grid(torch.eye(2, 3).expand(image.size(0), 2, 3), list(image.shape), align_corners=False)
        moved = F.grid_sample(image, grid + shift[:, None, None, :], align_corners=False)
        moved[:, :, 0] = 0
        return F.local_response_norm(moved, 3)


batch_size = 16
channels = 8
height = 48
width = 40
tokens = 12
words = 500
embedding = 32


def get_inputs():
    return [torch.randn(batch_size, channels, height, width), torch.randint(0, words, (batch_size, tokens))]


def get_init_inputs():
    return [words, embedding]
