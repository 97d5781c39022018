"""verifiers (Prime Intellect): a taskset over our grammar or the suite, and the environment that plays several turns.

    vf-eval kernelwright_verifiers --model tiny --client.base-url http://127.0.0.1:8000/v1 -n 50
    [[orchestrator.train.source]]  with  env.taskset.id = "kernelwright_verifiers"          # prime-rl

The judge plays the user: it answers each kernel with what to improve. Rewards are those of `kw.Environment`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from .drawn import drawn_tasks
from .environment import AsyncEnvironment, Environment
from .errors import NotJudged
from .judge import AsyncJudge, Judge
from .rewards import DEFAULT_SHAPE
from .scoring import task_of_row
from .task import Task


@functools.cache
def _judge(url: str | None) -> AsyncJudge:
    return AsyncJudge(url)


class KernelTasksetConfig(vf.TasksetConfig):
    tasks: list[str] = []
    """Names of the suite, or tasks as YAML or JSON text. Empty: tasks of the grammar, without end."""
    seed: int = 0
    """Which stream of the grammar."""
    split: str = "train"
    """Of the grammar: "train", or what training never shows: "composition" and "novel"."""
    families: list[str] = []
    """Of the grammar: only these (`kernelwright data families`)."""
    style: str = "chatml"
    """"chatml" asks a chat model; "compact" the tiny model."""
    words: str = "task"
    """"learned" asks in the words that Kernelwright's own agents were taught with."""
    url: str | None = None
    """A judge elsewhere; none: the one of this process, or KERNELWRIGHT_URL."""


class KernelData(vf.TaskData):
    task: str
    """A name of the suite, or the task's text."""


class KernelTask(vf.Task[KernelData, vf.State, vf.TaskConfig]):
    pass


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    def __init__(self, config: KernelTasksetConfig) -> None:
        super().__init__(config)
        self.INFINITE = not config.tasks

    def load(self) -> Iterator[KernelTask]:
        judge = Judge(_judge(self.config.url).service)
        for task in self._tasks(judge):
            asked = Environment(task, judge=judge, style=self.config.style, words=self.config.words).reset()
            messages = asked.messages
            system = "\n\n".join(one["content"] for one in messages if one["role"] == "system") or None
            prompt = "\n\n".join(one["content"] for one in messages if one["role"] == "user") if messages else asked.prompt
            text = task.body if isinstance(task.body, str) else task.yaml
            yield KernelTask(KernelData(name=task.name, prompt=prompt, system_prompt=system, task=text), self.config.task)

    def _tasks(self, judge: Judge) -> Iterator[Task]:
        if self.config.tasks:
            yield from map(task_of_row, self.config.tasks)
            return
        yield from drawn_tasks(seed=self.config.seed, split=self.config.split, families=self.config.families, service=judge.service)


class KernelEnvConfig(vf.EnvConfig):
    writer: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
    """A chat without tools, which needs no container: what it writes is judged in the sandbox of the judge alone."""
    turns: int = 3
    shape: str = DEFAULT_SHAPE
    target: float | None = None
    """A speedup at which an episode ends early."""


class KernelEnv(vf.Env[KernelEnvConfig]):
    """One episode: the model writes a kernel, reads what the judge says, writes another one. Paid for the best."""

    async def run(self, task: Any, agents: Any) -> None:
        settings = self.taskset.config
        environment = AsyncEnvironment(task_of_row(task.data.task), judge=_judge(settings.url), turns=self.config.turns,
                                       reward=self.config.shape, target=self.config.target, style=settings.style, words=settings.words)
        await environment.reset()
        seen = None
        rewards: list[float] = []
        async with agents.writer.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                seen = await environment.step(segment.last_reply)
                if seen.reward is None:  # the episode fails and may be tried again; it must not be learned from
                    raise NotJudged(str(seen.info.get("decision", "the judge failed")))
                rewards.append(seen.reward)
                if seen.done:
                    break
                segment = await interaction.turn(seen.feedback if settings.style == "chatml" else seen.prompt)
        trace = interaction.trace
        trace.record_reward("kernel", max(rewards, default=0.0), 1.0)
        trace.info["turn_rewards"] = rewards
        best = seen.best if seen is not None else None
        trace.record_metric("correct", float(best is not None))
        trace.record_metric("speedup", (best.speedup or 0.0) if best is not None else 0.0)


__all__ = ["KernelEnv", "KernelEnvConfig", "KernelTask", "KernelTaskset", "KernelTasksetConfig"]
