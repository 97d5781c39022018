#!/usr/bin/env python3
"""Writes tests/train/verl.json: advantages, losses and gradients by VERL, on random answers and on the edges of their
definitions, for src/learn/losses (and src/model/arithmetic's entropy) to equal.
    python3 -m venv ENV && ENV/bin/pip install verl==0.9.1   (with what it imports: torch, ray, tensordict, transformers)
    ENV/bin/python scripts/verl_golden.py
"""
import json
import pathlib
import random
from types import SimpleNamespace

import numpy as np
import torch
import verl
import verl.trainer.ppo.core_algos as algos
from verl import DataProto
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_weights
from verl.utils.torch_functional import entropy_from_logits, logprobs_from_logits
from verl.workers.config import FSDPActorConfig
from verl.workers.reward_manager.dapo import DAPORewardManager

torch.manual_seed(1)
random.seed(1)
torch.set_default_dtype(torch.float64)
NORM = "seq-mean-token-sum-norm"
KLS = (("k1", "k1"), ("k2", "k2"), ("k3", "k3"))


def flat(matrix, lengths):
    return [float(matrix[i, t]) for i, n in enumerate(lengths) for t in range(n)]


def padded(rows, longest):
    return torch.tensor([row + [0.0] * (longest - len(row)) for row in rows])


def exact(matrix):
    """Values that float32 holds: ours are float32, VERL computes in float64 here."""
    return matrix.float().double()


def random_batch(answers, longest, groups, shift=0.3):
    lengths = [random.randint(1, longest) for _ in range(answers)]
    mask = torch.zeros(answers, longest)  # tokens that the policy wrote
    for i, n in enumerate(lengths):
        mask[i, :n] = (torch.rand(n) < 0.8).double()
        mask[i, n - 1] = 1
    new = exact(torch.randn(answers, longest) - 2)
    return SimpleNamespace(
        lengths=lengths, mask=mask, new=new, old=exact(new + shift * torch.randn(answers, longest)),
        reference=exact(new + 0.5 * torch.randn(answers, longest)), sampled=exact(new + shift * torch.randn(answers, longest)),
        scores=torch.randn(answers).round(decimals=1), values=exact(torch.randn(answers, longest)),
        predicted=exact(torch.randn(answers, longest)), advantages=torch.randn(answers, longest),
        group=np.array([random.randrange(groups) for _ in range(answers)]))


def one(name, batch, low=0.2, high=0.2, dual=3.0, clip_value=0.5, mode="token-mean", scale=0, gamma=0.97, lam=0.9):
    lengths, mask = batch.lengths, batch.mask
    answers, longest = mask.shape
    rewards = torch.zeros(answers, longest)
    for i, n in enumerate(lengths):
        rewards[i, n - 1] = batch.scores[i]  # on the last token that was generated
    gae, returns = (None, None)
    if int(mask.sum()) > 1:  # VERL whitens in the same function, and refuses a single token
        gae, returns = algos.compute_gae_advantage_return(rewards, batch.values, mask, torch.tensor(gamma), torch.tensor(lam))
    whole = torch.ones_like(mask)
    grpo = algos.compute_grpo_outcome_advantage(rewards, whole, batch.group, norm_adv_by_std_in_grpo=True)[0][:, 0]
    dr_grpo = algos.compute_grpo_outcome_advantage(rewards, whole, batch.group, norm_adv_by_std_in_grpo=False)[0][:, 0]
    rloo = algos.compute_rloo_outcome_advantage(rewards, whole, batch.group)[0][:, 0]

    importance = compute_rollout_correction_weights(batch.old - batch.sampled, mask, "token", 2.0)[0]
    config = FSDPActorConfig(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.2, clip_ratio_low=low,
                             clip_ratio_high=high, clip_ratio_c=dual)
    tokens, alive = int(mask.sum()), int((mask.sum(-1) > 0).sum())

    def policy(rows, weights):
        new = batch.new.clone().requires_grad_(True)
        total, metrics = 0, None
        for part in rows:  # micro-batches of one step: the denominators are the step's
            config.global_batch_info.update(dp_size=1, batch_num_tokens=tokens, global_batch_size=alive, loss_scale_factor=scale or None)
            loss, metrics = algos.compute_policy_loss_vanilla(batch.old[part], new[part], batch.advantages[part], mask[part], mode, config,
                                                              None if weights is None else weights[part])
            total = total + loss
        total.backward()
        return total.item(), metrics, flat(new.grad, lengths)

    everything = [list(range(answers))]
    loss, metrics, slope = policy(everything, None)
    corrected, _, corrected_slope = policy(everything, importance)
    in_parts, _, parts_slope = policy([[i] for i in range(answers)], None)

    predicted = batch.predicted.clone().requires_grad_(True)
    aim = returns if returns is not None else batch.values + 1
    value_loss, value_clipped = algos.compute_value_loss(predicted, aim, batch.values, mask, clip_value, loss_agg_mode=mode,
                                                         loss_scale_factor=scale or None)
    value_loss.backward()
    kls, kl_slopes, kl_losses = {}, {}, {}
    for ours, theirs in KLS:
        new = batch.new.clone().requires_grad_(True)
        each = algos.kl_penalty(new, batch.reference, theirs)
        kls[ours] = flat(each.detach(), lengths)
        total = algos.agg_loss(each, mask, mode, loss_scale_factor=scale or None)
        kl_losses[ours] = total.item()
        total.backward()
        kl_slopes[ours] = flat(new.grad, lengths)
    return {
        "name": name, "lengths": lengths, "mask": [int(v) for v in flat(mask, lengths)], "group": [int(g) for g in batch.group],
        "scores": batch.scores.tolist(), "rewards": flat(rewards, lengths), "values": flat(batch.values, lengths), "gamma": gamma, "lambda": lam,
        "gae_whitened": None if gae is None else flat(gae, lengths), "returns": flat(aim, lengths), "has_gae": gae is not None,
        "grpo": grpo.tolist(), "dr_grpo": dr_grpo.tolist(), "rloo": rloo.tolist(),
        "log_prob": flat(batch.new, lengths), "old": flat(batch.old, lengths), "reference": flat(batch.reference, lengths),
        "sampled": flat(batch.sampled, lengths), "importance": flat(importance, lengths),
        "advantages": flat(batch.advantages, lengths), "low": low, "high": high, "dual": dual, "mode": mode, "scale": scale,
        "loss": loss, "clipped": metrics["actor/pg_clipfrac"], "clipped_dual": metrics["actor/pg_clipfrac_lower"],
        "kl": metrics["actor/ppo_kl"], "d_log_prob": slope, "corrected_loss": corrected, "d_corrected": corrected_slope,
        "loss_in_parts": in_parts, "d_in_parts": parts_slope,
        "predicted": flat(batch.predicted, lengths), "clip_value": clip_value, "value_loss": value_loss.item(),
        "value_clipped": value_clipped.item(), "d_value": flat(predicted.grad, lengths),
        "kls": kls, "kl_losses": kl_losses, "kl_slopes": kl_slopes,
    }


def with_(batch, **changes):
    for name, value in changes.items():
        setattr(batch, name, value)
    return batch


def edges():
    """What is easily got wrong: nothing to compare with, nothing to tell apart, ratios and values far out of their ranges."""
    made = []
    batch = random_batch(5, 6, 1)
    made.append(("every answer alone in its group", with_(batch, group=np.arange(5)), {}))
    batch = random_batch(6, 5, 1)
    made.append(("groups without contrast", with_(batch, scores=torch.tensor([0.7, 0.7, 0.7, -3.0, -3.0, 0.0]), group=np.array([0, 0, 0, 1, 1, 2])), {}))
    batch = random_batch(6, 5, 1)
    made.append(("scores that nearly agree, and huge ones",
                 with_(batch, scores=torch.tensor([1.0, 1.0001, 0.9999, 1e4, -1e4, 2e4]), group=np.array([0, 0, 0, 1, 1, 1])), {}))
    batch = random_batch(4, 1, 2)
    made.append(("answers of one token", with_(batch, mask=torch.ones(4, 1)), {"mode": "seq-mean-token-mean"}))
    batch = random_batch(1, 1, 1)
    made.append(("one token in all", with_(batch, mask=torch.ones(1, 1)), {}))
    batch = random_batch(5, 6, 2)
    batch.mask[1] = 0
    made.append(("an answer of which no token counts", batch, {"mode": "seq-mean-token-mean"}))
    batch = random_batch(4, 6, 2)
    batch.mask[2] = 0
    made.append(("the same, summed", batch, {"mode": "seq-mean-token-sum"}))
    far = [[-30.0, -21.0, -20.0, -3.0, -1.2], [3.0, 1.2, 20.0, 21.0, 30.0], [0.0, 1e-4, -1e-4, 0.25, -0.25]]
    for name, sign in (("far ratios, better than expected", 1.0), ("far ratios, worse than expected: the dual clip", -1.0)):
        batch = random_batch(3, 5, 1)
        mask = torch.ones(3, 5)
        old = exact(torch.full((3, 5), -40.0))
        made.append((name, with_(batch, lengths=[5, 5, 5], mask=mask, old=old, new=exact(old + torch.tensor(far)), sampled=exact(old - torch.tensor(far)),
                                 reference=exact(old + torch.tensor(far).flip(0)), advantages=sign * torch.rand(3, 5)), {"high": 0.28}))
    batch = random_batch(3, 5, 1)
    made.append(("nothing better or worse", with_(batch, advantages=torch.zeros(3, 5)), {}))
    batch = random_batch(3, 5, 1)
    made.append(("weights that have not moved", with_(batch, old=batch.new.clone(), sampled=batch.new.clone(), reference=batch.new.clone()), {}))
    batch = random_batch(3, 5, 1)
    made.append(("a critic that has not moved", with_(batch, predicted=batch.values.clone()), {"gamma": 1.0, "lam": 0.95}))
    batch = random_batch(4, 6, 2)
    made.append(("values far from the old ones", with_(batch, predicted=exact(batch.values + 5 * torch.randn(4, 6))), {"clip_value": 0.1}))
    batch = random_batch(4, 6, 2)
    made.append(("equal advantages everywhere", with_(batch, values=torch.zeros(4, 6), scores=torch.ones(4), mask=padded([[1.0] * n for n in batch.lengths], 6)),
                 {"gamma": 1.0, "lam": 1.0}))
    return [one(name, batch, **options) for name, batch, options in made]


def entropies():
    made = []
    for temperature, wide in ((1.0, 1.0), (0.7, 3.0), (1.3, 30.0), (1.0, 0.0)):
        logits = exact(wide * torch.randn(6, 37)).requires_grad_(True)
        mask = torch.ones(1, 6)
        tokens = torch.randint(0, 37, (6,))
        scaled = logits / temperature
        entropy = entropy_from_logits(scaled)
        log_prob = logprobs_from_logits(scaled, tokens)
        loss = algos.compute_entropy_loss(scaled.unsqueeze(0), mask)
        slope, = torch.autograd.grad(loss, logits, retain_graph=True)
        log_prob_slope, = torch.autograd.grad(log_prob.sum(), logits)
        made.append({"temperature": temperature, "logits": logits.detach().tolist(), "tokens": tokens.tolist(), "entropy": entropy.tolist(),
                     "log_prob": log_prob.tolist(), "loss": loss.item(), "d_logits": slope.tolist(), "d_log_prob": log_prob_slope.tolist()})
    return made


def overlong():
    """DAPO's reward manager itself, over answers of every length."""
    made = []
    tokenizer = SimpleNamespace(decode=lambda ids, skip_special_tokens: "", eos_token="</s>")
    for most, buffer, penalty in ((20, 8, 1.0), (12, 12, 0.5), (7, 1, 2.0)):
        manager = DAPORewardManager(tokenizer, 0, compute_score=lambda **_: 0.0, max_resp_len=most,
                                    overlong_buffer_cfg=SimpleNamespace(enable=True, len=buffer, penalty_factor=penalty, log=False))
        lengths = list(range(1, most + 1))
        seen = torch.zeros(len(lengths), 3 + most, dtype=torch.int64)
        for i, n in enumerate(lengths):
            seen[i, :3 + n] = 1
        data = DataProto.from_dict(
            {"prompts": torch.ones(len(lengths), 3, dtype=torch.int64), "responses": torch.ones(len(lengths), most, dtype=torch.int64), "attention_mask": seen},
            non_tensors={"reward_model": np.array([{"ground_truth": ""}] * len(lengths), dtype=object),
                         "data_source": np.array(["kernels"] * len(lengths), dtype=object)})
        rewards = manager(data)
        made.append({"most": most, "buffer": buffer, "penalty": penalty, "penalties": [float(rewards[i, n - 1]) for i, n in enumerate(lengths)]})
    return made


cases = [one("random, token mean", random_batch(6, 7, 3)),
         one("random, DAPO's clip", random_batch(12, 6, 4, 0.5), low=0.2, high=0.28, gamma=1.0, lam=0.95),
         one("random, token sum", random_batch(9, 5, 4), high=0.28, mode="seq-mean-token-sum"),
         one("random, Dr.GRPO", random_batch(8, 9, 3, 0.6), mode=NORM, scale=9),
         one("random, answer mean", random_batch(5, 11, 2), low=0.1, high=0.3, dual=1.3, clip_value=0.2, mode="seq-mean-token-mean"),
         one("random, far from the sampler", random_batch(7, 8, 2, 2.5), dual=2.0, gamma=1.0, lam=0.0)] + edges()
controllers = []
for kl, n in ((0.2, 64), (0.01, 8), (0.055, 512), (0.0, 1), (1e3, 1000)):
    controller = algos.AdaptiveKLController(0.02, 0.05, 10000)
    values = []
    for _ in range(3):
        controller.update(kl, n)
        values.append(controller.value)
    controllers.append({"kl": kl, "answers": n, "coefficients": values})
target = pathlib.Path(__file__).resolve().parent.parent / "tests" / "train" / "verl.json"
target.parent.mkdir(exist_ok=True)
target.write_text(json.dumps({"verl": verl.__version__, "cases": cases, "controllers": controllers, "entropies": entropies(), "overlong": overlong()}) + "\n")
print(target, target.stat().st_size, len(cases), "cases")
