"""Agents that write kernels: conversations as iterators of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from .errors import AgentError, KernelwrightError
from .events import Event
from .judge import service_of
from .service import Service
from .streams import ConversationCursor, aconversation_events, conversation_events
from .task import Task, TaskLike


@dataclass(frozen=True)
class Best:
    """The best right kernel of a conversation."""

    kernel: str
    speedup: float | None  # over the naive kernel; the library's, where the task has none
    time_us: float | None
    turn: int  # -1: the kernel that was given
    conversation: str
    writer: str = "agent"  # of the kernel: "agent", "library" or "user"


def _body(task: TaskLike, model: str | None, options: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"task": Task.of(task).body, "model": model}
    body.update({"from" if key == "from_" else key: value for key, value in options.items()})
    return {key: value for key, value in body.items() if value is not None}


def _best_of(end: Event | None, cursor: ConversationCursor) -> Best:
    if end is None:
        raise KernelwrightError("the conversation has no end")
    best = end.get("best")
    if best is None:
        why = end.get("problem") or f"no kernel was right (it ended by: {end.get('end')})"
        raise AgentError(f"the conversation {cursor.id} has no kernel: {why}")
    return Best(best["kernel"], best["speedup"], best["time_us"], best["turn"], cursor.id or "", best.get("writer", "agent"))


class Agents:
    """`Agents()` starts the agents that come with the program; `Agents(url=...)` asks those of a service elsewhere.

    model: one of several sets of agents of that service. The events are those of docs/service.md: `begin`, `baseline`, `given`, `question`, `text`,
    `answer`, `verdict`, `turn`, `end`. An iterator that is not read to its end cancels its conversation. A conversation goes on after a
    lost connection, and after a crash of the service.
    """

    def __init__(self, service: Service | str | None = None, *, url: str | None = None, key: str | None = None,
                 model: str | None = None) -> None:
        self.service, self._own = service_of(service, url, key, agents=True)
        self.model = model

    def __enter__(self) -> Agents:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._own:
            self.service.close()

    def generate(self, task: TaskLike, *, samples: int = 1, **options: Any) -> Iterator[Event]:
        """One turn of the Generator. Options: level, seed, temperature, top_p, max_tokens, reward."""
        return self._events("/v1/generate", task, {"samples": samples, **options})

    def optimize(self, task: TaskLike, kernel: str | None = None, *, turns: int = 3, samples: int = 4, **options: Any) -> Iterator[Event]:
        """Several turns: the Generator's first kernel, or yours, is repaired and improved. More options: target, seed, temperature,
        from_ ("best", "last", or "library": the best, and the first one is the library's)."""
        return self._events("/v1/optimize", task, {"kernel": kernel, "turns": turns, "samples": samples, **options})

    def best(self, task: TaskLike, kernel: str | None = None, *, turns: int = 3, samples: int = 4, **options: Any) -> Best:
        """`optimize` to its end, for its result. Raises AgentError where no kernel was right."""
        options = {"kernel": kernel, "turns": turns, "samples": samples, **options}
        cursor = ConversationCursor("/v1/optimize", _body(task, self.model, options))
        end = None
        for event in conversation_events(self.service, cursor):
            end = event
        return _best_of(end, cursor)

    def _events(self, path: str, task: TaskLike, options: dict[str, Any]) -> Iterator[Event]:
        return conversation_events(self.service, ConversationCursor(path, _body(task, self.model, options)))


class AsyncAgents:
    """`Agents` for asyncio."""

    def __init__(self, service: Service | str | None = None, *, url: str | None = None, key: str | None = None,
                 model: str | None = None) -> None:
        self.service, self._own = service_of(service, url, key, agents=True)
        self.model = model

    async def __aenter__(self) -> AsyncAgents:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._own:
            await self.service.aclose()

    def generate(self, task: TaskLike, *, samples: int = 1, **options: Any) -> AsyncIterator[Event]:
        return self._events("/v1/generate", task, {"samples": samples, **options})

    def optimize(self, task: TaskLike, kernel: str | None = None, *, turns: int = 3, samples: int = 4,
                 **options: Any) -> AsyncIterator[Event]:
        return self._events("/v1/optimize", task, {"kernel": kernel, "turns": turns, "samples": samples, **options})

    async def best(self, task: TaskLike, kernel: str | None = None, *, turns: int = 3, samples: int = 4, **options: Any) -> Best:
        options = {"kernel": kernel, "turns": turns, "samples": samples, **options}
        cursor = ConversationCursor("/v1/optimize", _body(task, self.model, options))
        end = None
        async for event in aconversation_events(self.service, cursor):
            end = event
        return _best_of(end, cursor)

    def _events(self, path: str, task: TaskLike, options: dict[str, Any]) -> AsyncIterator[Event]:
        return aconversation_events(self.service, ConversationCursor(path, _body(task, self.model, options)))
