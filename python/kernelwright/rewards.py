"""What a model's answer is worth: its kernel is found, judged and paid as the agents' are (docs/reward.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import KernelwrightError, NotJudged
from .judge import AsyncJudge, Judge
from .task import TaskLike
from .verdict import Verdict

DEFAULT_SHAPE = "weighted"  # as conversations of the agents have it
Shape = str | Mapping[str, Any]


@dataclass(frozen=True)
class RewardDetails:
    """`total` is the reward; `judged` is False where the judge itself failed, and the sample must be left out of training."""

    total: float
    judged: bool
    decision: str  # how the total came about, one sentence
    terms: list[dict[str, Any]]  # name, value, weight, cap, points, why
    verdict: Verdict

    @property
    def kernel(self) -> str | None:
        """What was found in the answer."""
        return self.verdict.answer["kernel"] if self.verdict.answer is not None else None


def _details(verdict: Verdict) -> RewardDetails:
    paid = verdict.reward
    if paid is None:
        raise KernelwrightError("the service gives no rewards: it is older than this package")
    return RewardDetails(float(paid["total"]), bool(paid["judged"]), str(paid["decision"]), list(paid["terms"]), verdict)


def _judged(details: RewardDetails) -> float:
    if not details.judged:
        raise NotJudged(details.decision)
    return details.total


def reward_with_details(task: TaskLike, answer: str, *, shape: Shape = DEFAULT_SHAPE, judge: Judge | None = None,
                        **options: Any) -> RewardDetails:
    """The reward with its terms and the verdict.

    shape: "gated", "weighted", "final" or "hardware", or {"shape": ..., "role": "optimizer", "given": verdict.json, "target": 4,
    "weights": {"speed": 0.5}, "gate": True, "logarithmic": True, "baseline": "pytorch"}.
    """
    return _details((judge or Judge()).judge_answer(task, answer, reward=shape, **options))


def reward(task: TaskLike, answer: str, *, shape: Shape = DEFAULT_SHAPE, judge: Judge | None = None, **options: Any) -> float:
    """The reward of a model's answer; 0 where it holds no kernel. Raises NotJudged where the judge itself failed."""
    return _judged(reward_with_details(task, answer, shape=shape, judge=judge, **options))


async def areward_with_details(task: TaskLike, answer: str, *, shape: Shape = DEFAULT_SHAPE, judge: AsyncJudge | None = None,
                               **options: Any) -> RewardDetails:
    """`reward_with_details` for asyncio."""
    return _details(await (judge or AsyncJudge()).judge_answer(task, answer, reward=shape, **options))


async def areward(task: TaskLike, answer: str, *, shape: Shape = DEFAULT_SHAPE, judge: AsyncJudge | None = None,
                  **options: Any) -> float:
    """`reward` for asyncio."""
    return _judged(await areward_with_details(task, answer, shape=shape, judge=judge, **options))
