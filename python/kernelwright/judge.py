"""Judging kernels: one, or many at a time, with and without asyncio."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, Union

from .service import Service, default_service
from .task import Task, TaskLike
from .verdict import Verdict

Pair = tuple[TaskLike, str]


def service_of(service: Service | str | None, url: str | None, key: str | None, *, agents: bool = False) -> tuple[Service, bool]:
    """And whether it is the caller's own to close."""
    if isinstance(service, str):
        service, url = None, service
    if service is not None and url is not None:
        raise ValueError("give a service or a URL, not both")
    if url is not None:
        return Service(url, key=key), True
    return (service, False) if service is not None else (default_service(agents), False)


def sendable(text: str) -> str:
    """What a model says may hold halves of characters, which UTF-8 has no bytes for: they become question marks."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()


def judge_body(task: TaskLike, kernel: str, options: dict[str, Any]) -> dict[str, Any]:
    """The request of POST /v1/judge. `options` that are None are left out."""
    if not isinstance(kernel, str):
        raise TypeError(f"a kernel is a text, not {type(kernel).__name__}")
    body: dict[str, Any] = {"task": Task.of(task).body, "kernel": sendable(kernel)}
    body.update((key, value) for key, value in options.items() if value is not None)
    if isinstance(body.get("answer"), str):
        body["answer"] = sendable(body["answer"])
    if "answer" in body:
        del body["kernel"]
    return body


class Judge:
    """`Judge()` asks the service of this process, `Judge(url=...)` one elsewhere, `Judge(service)` a given one.

    May be used by many threads."""

    def __init__(self, service: Service | str | None = None, *, url: str | None = None, key: str | None = None) -> None:
        self.service, self._own = service_of(service, url, key)

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection if it is this judge's own; the service of the process stays for others."""
        if self._own:
            self.service.close()

    def judge(self, task: TaskLike, kernel: str, *, timeout: float | None = None, **options: Any) -> Verdict:
        """One verdict. Options go into the request: `reward="weighted"` also asks for the reward (docs/service.md)."""
        return Verdict.from_answer(self.service.request("POST", "/v1/judge", judge_body(task, kernel, options), timeout=timeout))

    def judge_answer(self, task: TaskLike, text: str, *, timeout: float | None = None, **options: Any) -> Verdict:
        """The kernel in a model's answer. An answer without one has the status "no_kernel"; `.answer` says why."""
        return self.judge(task, "", timeout=timeout, answer=text, **options)

    def judge_many(self, pairs: Iterable[Pair], *, in_flight: int = 64, ordered: bool = True, timeout: float | None = None,
                   **options: Any) -> Iterator[Verdict]:
        """Verdicts of (task, kernel) pairs, of which `in_flight` are judged or wait at a time; an endless iterator of pairs is fine.

        In the order of the pairs, or with `ordered=False` as they are ready; `verdict.id` is the pair's number either way.
        """
        if in_flight < 1:
            raise ValueError("in_flight must be at least 1")
        return _in_background(AsyncJudge(self.service), pairs, in_flight, ordered, {"timeout": timeout, **options})


class AsyncJudge:
    """`Judge` for asyncio."""

    def __init__(self, service: Service | str | None = None, *, url: str | None = None, key: str | None = None) -> None:
        self.service, self._own = service_of(service, url, key)

    async def __aenter__(self) -> AsyncJudge:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._own:
            await self.service.aclose()

    async def judge(self, task: TaskLike, kernel: str, *, timeout: float | None = None, **options: Any) -> Verdict:
        return Verdict.from_answer(await self.service.arequest("POST", "/v1/judge", judge_body(task, kernel, options), timeout=timeout))

    async def judge_answer(self, task: TaskLike, text: str, *, timeout: float | None = None, **options: Any) -> Verdict:
        return await self.judge(task, "", timeout=timeout, answer=text, **options)

    async def judge_many(self, pairs: Union[Iterable[Pair], AsyncIterable[Pair]], *, in_flight: int = 64, ordered: bool = True,
                         timeout: float | None = None, **options: Any) -> AsyncIterator[Verdict]:
        """As `Judge.judge_many`; `pairs` may be asynchronous."""
        source = _numbered(pairs)
        running: dict[asyncio.Task[Verdict], int] = {}
        done: dict[int, Verdict] = {}
        next_out, more = 0, True
        try:
            while more or running:
                while more and len(running) + len(done) < in_flight:
                    try:
                        number, pair = await source.__anext__()
                    except StopAsyncIteration:
                        more = False
                        break
                    running[asyncio.ensure_future(self.judge(*pair, timeout=timeout, id=str(number), **options))] = number
                if not running:
                    break
                ready, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in sorted(ready, key=lambda one: running[one]):
                    done[running.pop(task)] = task.result()
                while done and (not ordered or next_out in done):
                    yield done.pop(next_out if ordered else min(done))
                    next_out += 1
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


async def _numbered(pairs: Union[Iterable[Pair], AsyncIterable[Pair]]) -> AsyncIterator[tuple[int, Pair]]:
    number = 0
    if isinstance(pairs, AsyncIterable):
        async for pair in pairs:
            yield number, pair
            number += 1
    else:
        for pair in pairs:
            yield number, pair
            number += 1


class _Background:
    """An event loop in a thread of its own. Requests there can be given up, which a thread that waits for an answer cannot."""

    def __init__(self, judge: AsyncJudge) -> None:
        self._judge = judge
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kernelwright judge", daemon=True)
        self._thread.start()

    def ask(self, then: Callable[[Future[Verdict]], None], pair: Pair, options: dict[str, Any]) -> None:
        asyncio.run_coroutine_threadsafe(self._judge.judge(*pair, **options), self._loop).add_done_callback(then)

    def close(self) -> None:
        """What is under way is given up: the service hears of it, and does not judge for nobody."""
        asyncio.run_coroutine_threadsafe(self._give_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _give_up(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._judge.service.release()
        await self._loop.shutdown_default_executor()


def _in_background(judge: AsyncJudge, pairs: Iterable[Pair], in_flight: int, ordered: bool, options: dict[str, Any]) -> Iterator[Verdict]:
    """`pairs` are taken in the caller's thread, when it asks for a verdict."""
    answered: queue.SimpleQueue[tuple[int, Future[Verdict]]] = queue.SimpleQueue()
    source = enumerate(pairs)
    done: dict[int, Verdict] = {}
    open_count, next_out, more = 0, 0, True
    background = _Background(judge)
    try:
        while more or open_count:
            # In order, what is ready but not yet given out counts too: memory stays bounded behind a slow one.
            while more and open_count + len(done) < in_flight:
                one = next(source, None)
                if one is None:
                    more = False
                    break
                background.ask(partial(_put, answered, one[0]), one[1], {**options, "id": str(one[0])})
                open_count += 1
            if not open_count:
                break
            number, verdict = answered.get()
            open_count -= 1
            done[number] = verdict.result()
            while done and (not ordered or next_out in done):
                yield done.pop(next_out if ordered else min(done))
                next_out += 1
    finally:
        background.close()


def _put(answered: queue.SimpleQueue[tuple[int, Future[Verdict]]], number: int, verdict: Future[Verdict]) -> None:
    answered.put((number, verdict))
