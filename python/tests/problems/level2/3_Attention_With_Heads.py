"""Heads: a size that is a product, a causal mask from new tensors."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal self attention of one projection."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (each.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for each in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        mask = torch.tril(torch.ones(length, length, device=x.device))
        scores = scores.masked_fill(mask == 0, float("-inf"))
        return (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, length, width)


batch_size = 8
length = 256
width = 512
heads = 8


def get_inputs():
    return [torch.randn(batch_size, length, width)]


def get_init_inputs():
    return [width, heads]
