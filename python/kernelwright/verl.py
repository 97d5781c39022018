"""VERL: `compute_score` for its reward managers. The agent loop is in kernelwright.verl_loop.

    reward.custom_reward_function.path=pkg://kernelwright.verl reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.shape=gated +reward.custom_reward_function.reward_kwargs.url=http://judge:8000

Rows come from `kernelwright data export --for verl`; their ground truth is the task. Asynchronous: a reward worker judges as many answers
at a time as `in_flight` says while others are generated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import NotJudged
from .rewards import DEFAULT_SHAPE, RewardDetails, Shape
from .scoring import Scorer, shape_object, task_of_row as task_of_row
from .task import Task

_scorers: dict[str, Scorer] = {}


def _scorer(shape: Shape, url: str | None, words: str, in_flight: int) -> Scorer:
    """One for each setting, so that its bound on concurrency holds for all calls of a worker."""
    key = json.dumps([shape_object(shape), url, words, in_flight], sort_keys=True, default=str)
    if key not in _scorers:
        _scorers[key] = Scorer(shape=shape, judge=url, words=words, in_flight=in_flight)
    return _scorers[key]


def score_of(details: RewardDetails) -> dict[str, float]:
    """As VERL takes it: the same keys for every sample, numbers only."""
    verdict = details.verdict
    return {"score": details.total, "correct": float(verdict.correct), "compiled": float(verdict.compiled),
            "speedup": verdict.speedup or 0.0}


async def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None = None, *,
                        shape: Shape = DEFAULT_SHAPE, url: str | None = None, words: str = "task", in_flight: int = 64,
                        **_: Any) -> dict[str, float]:
    """The reward of an answer. A row of the Optimizer is paid for what it gains over the kernel that it was shown.

    Raises NotJudged where the judge itself failed: VERL's V1 trainer then drops the prompt's group instead of learning from a wrong 0.
    """
    scorer = _scorer(shape, url, words, in_flight)
    task = task_of_row(ground_truth)
    given = (extra_info or {}).get("kernel")
    wanted = shape_object(shape)
    if given:
        wanted.setdefault("role", "optimizer")
        wanted.setdefault("given", (await _given_verdict(scorer, task, str(given))).json)
    details = await scorer.score(task, solution_str, shape=wanted)
    if not details.judged:
        raise NotJudged(details.decision)
    return score_of(details)


async def _given_verdict(scorer: Scorer, task: Task, kernel: str) -> Any:
    return await scorer.judge.judge(task, kernel)  # the service remembers verdicts


def agent_yaml() -> Path:
    """The file for `actor_rollout_ref.rollout.agent.agent_loop_config_path`."""
    return Path(__file__).with_name("verl_agent.yaml")


def __getattr__(name: str) -> Any:
    if name not in ("KernelAgentLoop", "TurnOutput"):  # importing VERL takes its time
        raise AttributeError(f"module 'kernelwright.verl' has no attribute {name!r}")
    from . import verl_loop

    return getattr(verl_loop, name)
