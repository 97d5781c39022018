"""A task as a game of several turns: a model is asked for a kernel, then to repair or improve it, and is paid each time.

The questions are those that the program's own agents get (POST /v1/prompt), and the rules those of their conversations: the Optimizer
is shown the best kernel so far, or, while none is right, the one that got furthest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .judge import AsyncJudge, Judge, judge_body
from .rewards import DEFAULT_SHAPE, Shape
from .task import Task, TaskLike
from .verdict import Verdict


@dataclass(frozen=True)
class Observation:
    """What a model sees next, and what its last answer was worth."""

    messages: list[dict[str, str]]  # the next question, for a chat model; empty when it is over
    prompt: str  # the same as one text
    role: str  # who is asked: "generator" or "optimizer"
    turn: int  # answers so far
    done: bool
    reward: float | None = None  # of the last answer; None: there was none, or the judge failed and it must be left out
    verdict: Verdict | None = None
    best: Verdict | None = None  # of the best right kernel so far
    best_kernel: str | None = None
    feedback: str = ""  # about the last answer, for a model that remembers the conversation
    info: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Kernel:
    text: str
    verdict: Verdict


class _Course:
    """The rules, without asking anybody."""

    def __init__(self, task: TaskLike, turns: int, reward: Shape, kernel: str | None, words: str, target: float | None,
                 level: str | None, style: str, go_on_with: str) -> None:
        if turns < 1:
            raise ValueError("turns must be at least 1")
        if go_on_with not in ("best", "last"):
            raise ValueError("go_on_with must be 'best' or 'last'")
        self.task = Task.of(task)
        self.turns = turns
        self._reward = dict(reward) if isinstance(reward, Mapping) else {"shape": reward}
        self.kernel = kernel
        self._words = words
        self._target = target
        self._level = level
        self._style = style
        self._go_on_with = go_on_with
        self.restart()

    def restart(self) -> None:
        self.turn = 0
        self.kernels: list[_Kernel] = []
        self.current: _Kernel | None = None
        self.best: _Kernel | None = None

    @property
    def role(self) -> str:
        return "optimizer" if self.current is not None else "generator"

    def prompt_body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"task": self.task.body, "role": self.role, "words": self._words, "style": self._style}
        if self._target is not None:
            body["target"] = self._target
        if self.current is None:
            return body if self._level is None else {**body, "level": self._level}
        tried = [{"kernel": one.text, "status": one.verdict.status, "speedup": one.verdict.speedup}
                 for one in self.kernels if one is not self.current]
        return {**body, "kernel": self.current.text, "verdict": self.current.verdict.json, "tried": tried[-64:]}

    def answer_body(self, text: str) -> dict[str, Any]:
        reward: dict[str, Any] = {"role": self.role, **self._reward}
        if self.current is not None:
            reward.setdefault("given", self.current.verdict.json)
        return judge_body(self.task, "", {"answer": text, "reward": reward, "words": self._words})

    def given_body(self) -> dict[str, Any]:
        assert self.kernel is not None
        return judge_body(self.task, self.kernel, {})

    def take_given(self, verdict: Verdict) -> None:
        assert self.kernel is not None
        self.current = _Kernel(self.kernel, verdict)  # there is nothing else to begin with, whatever the judge could say
        self.kernels.append(self.current)
        if verdict.rank is not None and verdict.rank[0]:
            self.best = self.current

    def take(self, verdict: Verdict) -> None:
        self.turn += 1
        if verdict.rank is None or verdict.answer is None:
            return  # no kernel, or the judge could say nothing about it
        one = _Kernel(str(verdict.answer["kernel"]), verdict)
        self.kernels.append(one)
        if verdict.rank[0] and (self.best is None or verdict.rank > (self.best.verdict.rank or [])):
            self.best = one
        if self._go_on_with == "last" or self.current is None:
            self.current = one
        elif self.best is not None:
            self.current = self.best
        elif verdict.rank >= (self.current.verdict.rank or []):
            self.current = one

    @property
    def done(self) -> bool:
        reached = self._target is not None and self.best is not None and (self.best.verdict.speedup or 0) >= self._target
        return self.turn >= self.turns or reached

    def observation(self, prompt: Mapping[str, Any] | None, verdict: Verdict | None) -> Observation:
        paid = verdict.reward if verdict is not None else None
        return Observation(
            messages=list(prompt["messages"]) if prompt else [],
            prompt=str(prompt["text"]) if prompt else "",
            role=self.role,
            turn=self.turn,
            done=self.done,
            reward=float(paid["total"]) if paid is not None and paid["judged"] else None,
            verdict=verdict,
            best=self.best.verdict if self.best else None,
            best_kernel=self.best.text if self.best else None,
            feedback=verdict.feedback if verdict is not None else "",
            info={"decision": paid["decision"], "terms": paid["terms"]} if paid is not None else {},
        )


class Environment:
    """One conversation about a task at a time.

    environment = Environment("softmax", turns=3)
    observation = environment.reset()
    while not observation.done:
        observation = environment.step(model(observation.messages))
        learn_from(observation.reward)

    turns: answers in an episode; it ends early when a kernel reaches `target`, a speedup over the naive kernel.
    reward: a shape's name, or an object as in `kw.reward_with_details`; role and given kernel are added by turn.
    kernel: a kernel to begin with; without one the first question is the Generator's.
    words: "task" asks in the task's own words; "learned" in those that the program's agents were taught with.
    style: "chatml" for chat models; "compact" for the tiny model.
    go_on_with: "best" or "last", the kernel that the Optimizer is shown.
    """

    def __init__(self, task: TaskLike, *, judge: Judge | None = None, turns: int = 3, reward: Shape = DEFAULT_SHAPE,
                 kernel: str | None = None, words: str = "task", target: float | None = None, level: str | None = None,
                 style: str = "chatml", go_on_with: str = "best") -> None:
        self.judge = judge if judge is not None else Judge()
        self._course = _Course(task, turns, reward, kernel, words, target, level, style, go_on_with)

    @property
    def task(self) -> Task:
        return self._course.task

    def reset(self) -> Observation:
        """The first question of a new episode."""
        self._course.restart()
        if self._course.kernel is not None:
            self._course.take_given(Verdict.from_answer(self.judge.service.request("POST", "/v1/judge", self._course.given_body())))
        return self._observation(None)

    def step(self, answer: str) -> Observation:
        """Judges and pays an answer: a model's text with a kernel in it, or a kernel's file as it is."""
        if self._course.done:
            raise RuntimeError("the episode is over; reset() begins another one")
        verdict = Verdict.from_answer(self.judge.service.request("POST", "/v1/judge", self._course.answer_body(answer)))
        self._course.take(verdict)
        return self._observation(verdict)

    def _observation(self, verdict: Verdict | None) -> Observation:
        prompt = None if self._course.done else self.judge.service.request("POST", "/v1/prompt", self._course.prompt_body())
        return self._course.observation(prompt, verdict)


class AsyncEnvironment:
    """`Environment` for asyncio."""

    def __init__(self, task: TaskLike, *, judge: AsyncJudge | None = None, turns: int = 3, reward: Shape = DEFAULT_SHAPE,
                 kernel: str | None = None, words: str = "task", target: float | None = None, level: str | None = None,
                 style: str = "chatml", go_on_with: str = "best") -> None:
        self.judge = judge if judge is not None else AsyncJudge()
        self._course = _Course(task, turns, reward, kernel, words, target, level, style, go_on_with)

    @property
    def task(self) -> Task:
        return self._course.task

    async def reset(self) -> Observation:
        self._course.restart()
        if self._course.kernel is not None:
            given = await self.judge.service.arequest("POST", "/v1/judge", self._course.given_body())
            self._course.take_given(Verdict.from_answer(given))
        return await self._observation(None)

    async def step(self, answer: str) -> Observation:
        if self._course.done:
            raise RuntimeError("the episode is over; reset() begins another one")
        verdict = Verdict.from_answer(await self.judge.service.arequest("POST", "/v1/judge", self._course.answer_body(answer)))
        self._course.take(verdict)
        return await self._observation(verdict)

    async def _observation(self, verdict: Verdict | None) -> Observation:
        prompt = None if self._course.done else await self.judge.service.arequest("POST", "/v1/prompt", self._course.prompt_body())
        return self._course.observation(prompt, verdict)
