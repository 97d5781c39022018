"""OpenEnv: a task of several turns as an environment server, and its client.

    python -m kernelwright.openenv --port 8000                      # the server; KERNELWRIGHT_URL names another judge
    uvicorn kernelwright.openenv:app                                # the same

    async with KernelClient(base_url="http://127.0.0.1:8000") as client:
        result = await client.reset(task="softmax", turns=3)
        while not result.done:
            result = await client.step(KernelAction(answer=model(result.observation.messages)))

Every connection has its own episode; all share the judge of this process, which works on as many kernels at a time as there are cores
and queues the others.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment as OpenEnvironment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
from pydantic import Field

from . import __version__
from .drawn import task_of_draw
from .environment import AsyncEnvironment
from .environment import Observation as Seen
from .judge import AsyncJudge
from .rewards import DEFAULT_SHAPE
from .scoring import task_of_row
from .task import Task

_MOST_ANSWER = 4 << 20
_MOST_TURNS = 64


def _task_of_stranger(text: str) -> Task:
    """A name, or a task's text; never a path, because who asks may be anybody."""
    if "\n" not in text and not text.lstrip().startswith("{"):
        return Task.named(text)
    return task_of_row(text)


class KernelAction(Action):
    """What a model says: a text with a kernel in it, or a kernel's file as it is."""

    answer: str = Field(max_length=_MOST_ANSWER)


class KernelObservation(Observation):
    """The next question, and what the judge says about the last answer. `reward` is None where the judge itself failed."""

    task: str = ""
    role: str = ""
    turn: int = 0
    messages: list[dict[str, str]] = Field(default_factory=list)
    prompt: str = ""
    status: str | None = None
    correct: bool = False
    speedup: float | None = None
    feedback: str = ""


class KernelState(State):
    task: str = ""
    best_speedup: float | None = None
    best_kernel: str | None = None


class KernelEnvironment(OpenEnvironment[KernelAction, KernelObservation, KernelState]):
    """`reset(task=...)` takes a name of the suite, YAML or JSON of a task; without one, `seed` draws a task of the grammar."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, judge: AsyncJudge | None = None) -> None:
        super().__init__()
        self._judge = judge if judge is not None else AsyncJudge()
        self._episode: AsyncEnvironment | None = None
        self._state = KernelState()
        self._drawn = itertools.count()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **settings: Any) -> KernelObservation:
        raise RuntimeError("this environment is asynchronous: use reset_async")

    def step(self, action: KernelAction, timeout_s: float | None = None, **settings: Any) -> KernelObservation:
        raise RuntimeError("this environment is asynchronous: use step_async")

    async def reset_async(self, seed: int | None = None, episode_id: str | None = None, task: str | None = None, turns: int = 3,
                          kernel: str | None = None, shape: str = DEFAULT_SHAPE, style: str = "chatml", words: str = "task",
                          target: float | None = None) -> KernelObservation:
        if not 1 <= turns <= _MOST_TURNS:
            raise ValueError(f"turns must be 1 to {_MOST_TURNS}")
        asked = _task_of_stranger(task) if task is not None else await self._draw(seed)
        self._episode = AsyncEnvironment(asked, judge=self._judge, turns=turns, kernel=kernel, reward=shape, style=style, words=words,
                                         target=target)
        self._state = KernelState(episode_id=episode_id, step_count=0, task=asked.name)
        return self._observation(await self._episode.reset())

    async def step_async(self, action: KernelAction, timeout_s: float | None = None, **settings: Any) -> KernelObservation:
        if self._episode is None:
            raise RuntimeError("there is no episode: reset first")
        seen = await self._episode.step(action.answer)
        self._state.step_count = seen.turn
        self._state.best_kernel = seen.best_kernel
        self._state.best_speedup = seen.best.speedup if seen.best is not None else None
        return self._observation(seen)

    @property
    def state(self) -> KernelState:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(name="kernelwright", version=__version__,
                                   description="Write CUDA kernels and make them faster; a judge says whether they are right")

    async def _draw(self, seed: int | None) -> Task:
        index = next(self._drawn) if seed is None else seed
        answer = await self._judge.service.arequest("POST", "/v1/draw", {"seed": 0, "first": index, "count": 1})
        return task_of_draw(answer["tasks"][0])

    def _observation(self, seen: Seen) -> KernelObservation:
        verdict = seen.verdict
        return KernelObservation(
            done=seen.done, reward=seen.reward, task=self._state.task, role=seen.role, turn=seen.turn, messages=seen.messages,
            prompt=seen.prompt, status=verdict.status if verdict is not None else None,
            correct=verdict.correct if verdict is not None else False, speedup=verdict.speedup if verdict is not None else None,
            feedback=seen.feedback)


class KernelClient(EnvClient[KernelAction, KernelObservation, KernelState]):
    """The client of the server above; asynchronous, or with `.sync()` not."""

    def _step_payload(self, action: KernelAction) -> dict[str, Any]:
        return {"answer": action.answer}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[KernelObservation]:
        observation = KernelObservation.model_validate(
            {**payload["observation"], "done": payload.get("done", False), "reward": payload.get("reward")})
        return StepResult(observation=observation, reward=payload.get("reward"), done=bool(payload.get("done", False)))

    def _parse_state(self, payload: dict[str, Any]) -> KernelState:
        return KernelState.model_validate(payload)


def make_app(judge: AsyncJudge | None = None, *, sessions: int = 64) -> Any:
    """OpenEnv's FastAPI application. `sessions`: how many connections may play at a time."""
    shared = judge if judge is not None else AsyncJudge()
    return create_fastapi_app(lambda: KernelEnvironment(shared), KernelAction, KernelObservation, max_concurrent_envs=sessions,
                              env_name="kernelwright", state_cls=KernelState)


def __getattr__(name: str) -> Any:
    if name != "app":  # made when a server asks for it: it starts a judge
        raise AttributeError(name)
    globals()["app"] = make_app()
    return globals()["app"]


def main(line: list[str] | None = None) -> None:
    import uvicorn

    parser = argparse.ArgumentParser(prog="python -m kernelwright.openenv", description="Serves kernel tasks as an OpenEnv environment")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--sessions", type=int, default=64, help="episodes at a time")
    arguments = parser.parse_args(line)
    uvicorn.run(make_app(sessions=arguments.sessions), host=arguments.host, port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
