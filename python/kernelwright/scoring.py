"""Answers and rows as training frameworks hand them over, judged with bounded concurrency. What the adapters have in common."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import ServiceTimeout, TaskError
from .judge import AsyncJudge
from .rewards import DEFAULT_SHAPE, RewardDetails, Shape, areward_with_details
from .task import Task, TaskLike

_MOST_ROW_BYTES = 1 << 20


def task_of_row(text: TaskLike) -> Task:
    """A task as a data set's column holds it: a name of the suite, YAML text, or the JSON text that `kernelwright data export` writes."""
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return Task.of(text)
    if len(text) > _MOST_ROW_BYTES:
        raise TaskError(f"a row's task has {len(text)} characters; at most {_MOST_ROW_BYTES} are read")
    try:
        name = json.loads(text)["name"]
    except (ValueError, KeyError, TypeError) as problem:
        raise TaskError(f"a row's task is no JSON object with a name: {problem}") from problem
    return Task(str(name), text)


def answer_text(completion: Any) -> str:
    """What a model said: a text, or messages of which the last one of the assistant counts."""
    if isinstance(completion, str):
        return completion
    for message in reversed(list(completion)):
        if message.get("role") == "assistant":
            content = message.get("content") or ""
            if isinstance(content, str):
                return content
            return "".join(part.get("text", "") for part in content if isinstance(part, Mapping))
    return ""


class Scorer:
    """Scores answers, at most `in_flight` at a time in each event loop; nobody waits who does not await.

    The service queues, retries while it is busy, and starts again if it dies; an answer that is lost to a timeout is judged once more.
    `judge`: an AsyncJudge, the URL of a service, or None for the one of this process (KERNELWRIGHT_URL names another).
    """

    def __init__(self, *, shape: Shape = DEFAULT_SHAPE, judge: AsyncJudge | str | None = None, in_flight: int = 64,
                 words: str = "task", timeout: float | None = None) -> None:
        if in_flight < 1:
            raise ValueError("in_flight must be at least 1")
        self._shape = shape
        self._judge = judge
        self._in_flight = in_flight
        self._options: dict[str, Any] = {"words": words, "timeout": timeout}
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = weakref.WeakKeyDictionary()

    @property
    def judge(self) -> AsyncJudge:
        # Made when it is first needed, in the process that needs it: frameworks copy reward functions into workers.
        if not isinstance(self._judge, AsyncJudge):
            self._judge = AsyncJudge(self._judge)
        return self._judge

    def __reduce__(self) -> Any:
        judge = self._judge if isinstance(self._judge, str) else None
        return _scorer, (self._shape, judge, self._in_flight, self._options["words"], self._options["timeout"])

    async def score(self, task: TaskLike, answer: str, *, shape: Shape | None = None) -> RewardDetails:
        loop = asyncio.get_running_loop()
        turn = self._turns.get(loop)
        if turn is None:
            turn = self._turns[loop] = asyncio.Semaphore(self._in_flight)
        async with turn:
            try:
                return await self._once(task, answer, shape)
            except ServiceTimeout:
                return await self._once(task, answer, shape)

    async def _once(self, task: TaskLike, answer: str, shape: Shape | None) -> RewardDetails:
        wanted = self._shape if shape is None else shape
        return await areward_with_details(task, answer, shape=wanted, judge=self.judge, **self._options)

    async def score_all(self, pairs: Iterable[tuple[TaskLike, str]]) -> list[RewardDetails]:
        """In the order of the (task, answer) pairs."""
        return list(await asyncio.gather(*(self.score(task, answer) for task, answer in pairs)))


def _scorer(shape: Shape, judge: str | None, in_flight: int, words: str, timeout: float | None) -> Scorer:
    return Scorer(shape=shape, judge=judge, in_flight=in_flight, words=words, timeout=timeout)


def shape_object(shape: Shape) -> dict[str, Any]:
    return dict(shape) if isinstance(shape, Mapping) else {"shape": shape}
