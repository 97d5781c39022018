"""A recurrent layer, of which the last state is used."""
import torch
import torch.nn as nn


class Model(nn.Module):
    """A GRU and a linear layer on its last state."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, outputs)

    def forward(self, x):
        states, _ = self.gru(x)
        return self.out(states[:, -1])


batch_size = 32
steps = 50
inputs = 64
hidden = 128
outputs = 20


def get_inputs():
    return [torch.randn(batch_size, steps, inputs)]


def get_init_inputs():
    return [inputs, hidden, outputs]
