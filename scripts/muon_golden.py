#!/usr/bin/env python3
"""Writes tests/model/muon.safetensors: three steps of torch.optim.Muon on a wide, a tall and a square matrix.
    $(scripts/parity_env.sh)/venv/bin/python scripts/muon_golden.py tests/model/muon.safetensors

torch rounds the momentum to bfloat16 before it orthogonalises; ours stays in float32. So that one call is switched off here, and all of
it runs in float64: what is left is the formula, and a difference is ours.
"""
import sys

import safetensors.torch
import torch

torch.manual_seed(1)
torch.Tensor.bfloat16 = torch.Tensor.clone
tensors = {}
for name, shape in {"wide": (17, 40), "tall": (40, 17), "square": (24, 24)}.items():
    weight = torch.nn.Parameter(torch.randn(shape).double())
    optimizer = torch.optim.Muon([weight], lr=0.02, weight_decay=0.1, momentum=0.95, nesterov=True, ns_steps=5,
                                 adjust_lr_fn="match_rms_adamw")
    tensors[f"{name}.before"] = weight.detach().float()
    for step in range(3):
        gradient = torch.randn(shape) * torch.logspace(0, -3, shape[0])[:, None]
        weight.grad = gradient.double()
        optimizer.step()
        tensors[f"{name}.{step}.gradient"] = gradient
        tensors[f"{name}.{step}.after"] = weight.detach().float()
safetensors.torch.save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, sys.argv[1])
