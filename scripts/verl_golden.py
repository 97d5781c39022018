#!/usr/bin/env python3
"""Writes tests/train/verl.json: advantages, losses and gradients by VERL on random answers, for src/train to equal.
    pip install verl==0.9.1 and what it imports (torch, ray, tensordict, transformers)
    python scripts/verl_golden.py
"""
import json
import pathlib
import random

import numpy as np
import torch
import verl.trainer.ppo.core_algos as algos

torch.manual_seed(1)
random.seed(1)
torch.set_default_dtype(torch.float64)


def flat(matrix, lengths):
    return [float(matrix[i, t]) for i, n in enumerate(lengths) for t in range(n)]


def one(answers, longest, groups, low, high, dual, clip_value, mode):
    lengths = [random.randint(1, longest) for _ in range(answers)]
    mask = torch.zeros(answers, longest)  # tokens that the policy wrote
    for i, n in enumerate(lengths):
        mask[i, :n] = (torch.rand(n) < 0.8).double()
        mask[i, n - 1] = 1
    new = (torch.randn(answers, longest) - 2).float().double().requires_grad_(True)
    old = (new.detach() + 0.3 * torch.randn(answers, longest)).float().double()
    reference = (new.detach() + 0.5 * torch.randn(answers, longest)).float().double()
    scores = torch.randn(answers).round(decimals=1)
    rewards = torch.zeros(answers, longest)
    for i, n in enumerate(lengths):
        rewards[i, n - 1] = scores[i]
    values = torch.randn(answers, longest).float().double()
    group = np.array([random.randrange(groups) for _ in range(answers)])
    # VERL whitens in the same function.
    gae, returns = algos.compute_gae_advantage_return(rewards, values, mask, torch.tensor(0.97), torch.tensor(0.9))
    grpo = algos.compute_grpo_outcome_advantage(rewards, torch.ones_like(mask), group, norm_adv_by_std_in_grpo=True)[0][:, 0]
    dr_grpo = algos.compute_grpo_outcome_advantage(rewards, torch.ones_like(mask), group, norm_adv_by_std_in_grpo=False)[0][:, 0]
    rloo = algos.compute_rloo_outcome_advantage(rewards, torch.ones_like(mask), group)[0][:, 0]
    advantages = torch.randn(answers, longest)
    loss, clipped, kl, clipped_dual = algos.compute_policy_loss(
        old, new, advantages, mask, cliprange=0.2, cliprange_low=low, cliprange_high=high, clip_ratio_c=dual, loss_agg_mode=mode)
    loss.backward()
    predicted = (values + 0.6 * torch.randn(answers, longest)).float().double().requires_grad_(True)
    value_loss, value_clipped = algos.compute_value_loss(predicted, returns, values, mask, clip_value, loss_agg_mode=mode)
    value_loss.backward()
    kls = {name: flat(algos.kl_penalty_forward(new.detach(), reference, other), lengths)
           for name, other in (("k1", "kl"), ("k2", "mse"), ("k3", "low_var_kl"))}
    return {
        "lengths": lengths, "mask": [int(v) for v in flat(mask, lengths)], "group": [int(g) for g in group], "scores": scores.tolist(),
        "rewards": flat(rewards, lengths), "values": flat(values, lengths), "gamma": 0.97, "lambda": 0.9,
        "gae_whitened": flat(gae, lengths), "returns": flat(returns, lengths),
        "grpo": grpo.tolist(), "dr_grpo": dr_grpo.tolist(), "rloo": rloo.tolist(),
        "log_prob": flat(new.detach(), lengths), "old": flat(old, lengths), "reference": flat(reference, lengths),
        "advantages": flat(advantages, lengths), "low": low, "high": high, "dual": dual, "mode": mode,
        "loss": loss.item(), "clipped": clipped.item(), "clipped_dual": clipped_dual.item(), "kl": kl.item(), "d_log_prob": flat(new.grad, lengths),
        "predicted": flat(predicted.detach(), lengths), "clip_value": clip_value, "value_loss": value_loss.item(),
        "value_clipped": value_clipped.item(), "d_value": flat(predicted.grad, lengths), "kls": kls,
    }


cases = [one(6, 7, 3, 0.2, 0.2, 3.0, 0.5, "token-mean"), one(9, 5, 4, 0.2, 0.28, 3.0, 0.5, "seq-mean-token-sum"),
         one(5, 11, 2, 0.1, 0.3, 1.3, 0.2, "seq-mean-token-mean")]
controllers = []
for kl, n in ((0.2, 64), (0.01, 8), (0.055, 512)):
    controller = algos.AdaptiveKLController(0.02, 0.05, 10000)
    controller.update(kl, n)
    controllers.append({"kl": kl, "answers": n, "coefficient": controller.value})
target = pathlib.Path(__file__).resolve().parent.parent / "tests" / "train" / "verl.json"
target.parent.mkdir(exist_ok=True)
target.write_text(json.dumps({"verl": "0.9.1", "cases": cases, "controllers": controllers}))
print(target, target.stat().st_size)
