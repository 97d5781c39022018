"""The service that everything here asks: a child of this process, or one at a URL."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .child import Child, Folder
from .errors import KernelwrightError, ServiceDied, ServiceTimeout
from .http import Patience, make_async_client, make_client, result_of, timeouts
from .program import find_program

if TYPE_CHECKING:
    import httpx

# A kernel that crashes the whole service would otherwise start it again for ever.
_MOST_DEATHS_IN_A_ROW = 5
_POLL_S = 0.02


class Service:
    """`kernelwright serve`, started when it is first needed and ended with this process; or, with `url`, one that runs elsewhere.

    url: "http://host:8000", "https://..." or "unix:/path/to/socket". None starts a child.
    program: the program to start; see `find_program`.
    agents: True starts the agents that come with the program, a name or a list of names others; False is a judge alone.
    workers: kernels that are judged at a time; None is one for each core.
    key: the key for a service that has keys.
    options: more arguments for `kernelwright serve`.
    timeout: seconds until an answer begins, unless a call says otherwise. A kernel may wait for others, so it is long.
    patience: seconds during which a request is sent again while the service is busy (429, 503) or cannot be reached.

    One object may be used by many threads and event loops. A child that dies is started again, and requests that were not answered are
    sent again. A process that forks leaves the child to the parent; the fork starts its own when it needs one.
    """

    def __init__(self, url: str | None = None, *, program: str | os.PathLike[str] | None = None,
                 agents: bool | str | Sequence[str] = False, workers: int | None = None, key: str | None = None,
                 options: Sequence[str] = (), timeout: float | None = 600.0, patience: float = 120.0, start_seconds: float = 300.0,
                 connections: int = 256) -> None:
        self._made_with = (url, {"program": program, "agents": agents, "workers": workers, "key": key, "options": tuple(options),
                                 "timeout": timeout, "patience": patience, "start_seconds": start_seconds, "connections": connections})
        self._socket_given = url[len("unix:"):] if url is not None and url.startswith("unix:") else None
        self._url = None if self._socket_given else url.rstrip("/") if url is not None else None
        self._own = url is None
        if url is not None and self._url is not None and not self._url.startswith(("http://", "https://")):
            raise ValueError(f"'{url}' is not the address of a service: write http://HOST:PORT, https://... or unix:/PATH")
        self._program = find_program(program) if self._own else None
        self._key = key
        self._arguments = _arguments(agents, workers, options)
        self.has_agents = bool(agents) or not self._own
        self.timeout = timeout
        self.patience = patience
        self._start_s = start_seconds
        self._connections = connections
        self._closed = False
        self._inherited: list[object] = []  # of the parent, in a fork: kept so that nothing of it is ended here
        self._forget()
        _services.add(self)

    def _forget(self) -> None:
        """As if nothing had been started yet."""
        self._lock = threading.RLock()
        self._child: Child | None = None
        self._folder: Folder | None = None
        self._client: httpx.Client | None = None
        self._async_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, httpx.AsyncClient]] = (
            weakref.WeakKeyDictionary())
        self._generation = 0
        self._deaths = 0  # since the last answer

    def _after_fork(self) -> None:
        self._inherited += [self._child, self._client, self._async_clients, self._folder]
        if self._folder is not None:
            self._folder.forget()
        self._forget()

    def __reduce__(self) -> tuple[Callable[..., Service], tuple[Any, ...]]:
        return _remade, self._made_with  # another process starts its own

    def __repr__(self) -> str:
        return f"Service({self.address!r})"

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Service:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._own:
            self.close()

    @property
    def address(self) -> str:
        if self._url is not None:
            return self._url
        if self._socket_given is not None:
            return "unix:" + self._socket_given
        return "unix:" + self._child.socket if self._child is not None else str(self._program)

    @property
    def child_pid(self) -> int | None:
        """Of the program that was started; None without one."""
        return self._child.pid if self._child is not None else None

    @property
    def restarts(self) -> int:
        """How often a child that had died was started again."""
        return max(0, self._generation - 1)

    @property
    def closed(self) -> bool:
        return self._closed

    def start(self) -> None:
        """Starts the child and waits until it is ready; later calls do nothing. Requests do this by themselves."""
        self._ready()

    def close(self) -> None:
        """Ends the child, if there is one. Requests that are open fail; there are no new ones."""
        with self._lock:
            self._closed = True
            child, folder, client = self._child, self._folder, self._client
            self._child = self._folder = self._client = None
            self._async_clients = weakref.WeakKeyDictionary()
        if client is not None:
            client.close()
        if child is not None:
            child.end()
        if folder is not None:
            folder.remove()

    async def aclose(self) -> None:
        """`close` for asyncio."""
        await self.release()
        await asyncio.to_thread(self.close)

    async def release(self) -> None:
        """Closes the connections of the running event loop, before that ends; the service stays."""
        with self._lock:
            kept = self._async_clients.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept[1].aclose()

    # The child

    def _ready(self) -> int:
        """Sees to a child that is ready, and says which: 1 is the first."""
        with self._lock:
            if self._closed:
                raise ServiceDied("the service was closed")
            if not self._own:
                return 1
            if self._child is not None and self._child.alive():
                return self._generation
            if self._child is not None:
                self._note_death(self._child)
            self._start_child()
            return self._generation

    def _note_death(self, child: Child) -> None:
        self._deaths += 1
        if self._deaths > _MOST_DEATHS_IN_A_ROW:
            raise ServiceDied(f"the program died {self._deaths} times without an answer in between {child.last_words()}")

    def _start_child(self) -> None:
        assert self._program is not None
        if self._folder is None:
            self._folder = Folder()
        self._child = self._client = None
        child = Child(self._program, self._folder.path, self._arguments, self._generation + 1)
        try:
            child.wait_until_listening(self._start_s)
            client = make_client(None, child.socket, self._key, self._connections)
            self._wait_until_loaded(child, client)
        except BaseException:  # also Ctrl-C
            child.kill()
            raise
        self._child, self._client = child, client
        self._generation += 1

    def _wait_until_loaded(self, child: Child, client: httpx.Client) -> None:
        import httpx

        end = time.monotonic() + self._start_s
        while True:
            try:
                if client.get("/ready", timeout=timeouts(5)).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            if not child.alive():
                raise ServiceDied(f"the program ended while it was loading {child.last_words()}")
            if time.monotonic() > end:
                raise ServiceDied(f"the program was not ready within {self._start_s:.0f} s {child.last_words()}")
            time.sleep(_POLL_S)

    # Requests

    def client(self) -> httpx.Client:
        with self._lock:
            if self._client is None and not self._closed and not self._own:
                self._client = make_client(self._url, self._socket_given, self._key, self._connections)
            if self._client is None:
                raise ServiceDied("the service was closed")
            return self._client

    async def async_client(self) -> httpx.AsyncClient:
        """One for each event loop and child."""
        generation = await self._aready()
        loop = asyncio.get_running_loop()
        with self._lock:
            kept = self._async_clients.get(loop)
            if kept is None or kept[0] != generation:
                socket = self._child.socket if self._child is not None else self._socket_given
                kept = (generation, make_async_client(self._url, socket, self._key, self._connections))
                self._async_clients[loop] = kept
            return kept[1]

    def timeouts(self, timeout: float | None = None) -> httpx.Timeout:
        return timeouts(self.timeout if timeout is None else timeout)

    def note_answer(self) -> None:
        self._deaths = 0

    def request(self, method: str, path: str, body: object = None, *, timeout: float | None = None) -> Any:
        """One request, JSON in and out. Sent again when the service is busy, or died before it answered: so only for requests that may
        be sent twice."""
        import httpx

        patience = Patience(self.patience)
        while True:
            self._ready()
            try:
                response = self.client().request(method, path, json=body, timeout=self.timeouts(timeout))
            except httpx.TimeoutException as problem:
                raise ServiceTimeout(f"{self.address} did not answer {method} {path} in time") from problem
            except (httpx.TransportError, RuntimeError) as problem:
                time.sleep(self.pause_after(problem, patience))
                continue
            self.note_answer()
            pause = patience.after(response)
            if pause is None:
                return result_of(response)
            time.sleep(pause)

    async def arequest(self, method: str, path: str, body: object = None, *, timeout: float | None = None) -> Any:
        """`request` for asyncio."""
        import httpx

        patience = Patience(self.patience)
        while True:
            client = await self.async_client()
            try:
                response = await client.request(method, path, json=body, timeout=self.timeouts(timeout))
            except httpx.TimeoutException as problem:
                raise ServiceTimeout(f"{self.address} did not answer {method} {path} in time") from problem
            except (httpx.TransportError, RuntimeError) as problem:
                await asyncio.sleep(self.pause_after(problem, patience))
                continue
            self.note_answer()
            pause = patience.after(response)
            if pause is None:
                return result_of(response)
            await asyncio.sleep(pause)

    async def _aready(self) -> int:
        """Starting takes seconds, which other tasks of the loop must not wait for; looking takes none."""
        child = self._child
        if not self._closed and (not self._own or (child is not None and child.alive())):
            return self._generation if self._own else 1
        return await asyncio.to_thread(self._ready)

    def pause_after(self, problem: Exception, patience: Patience) -> float:
        """A connection was refused, cut, or closed under a request: seconds until it is sent again."""
        if self._closed:
            raise ServiceDied("the service was closed") from problem
        if isinstance(problem, RuntimeError) and "closed" not in str(problem):
            raise problem
        return patience.after_lost_connection(problem, self.address)

    def description(self) -> dict[str, Any]:
        """What the service says about itself: version, agents, judge, counts."""
        answer = self.request("GET", "/v1/service")
        if not isinstance(answer, dict):
            raise KernelwrightError(f"{self.address} is not a Kernelwright service")
        return answer


def _arguments(agents: bool | str | Sequence[str], workers: int | None, options: Sequence[str]) -> list[str]:
    arguments = ["--drain-seconds", "0"]
    if isinstance(agents, bool):
        arguments += [] if agents else ["--no-agents"]
    else:
        for name in [agents] if isinstance(agents, str) else agents:
            arguments += ["--model", name]
    if workers is not None:
        arguments += ["--judge-workers", str(workers)]
    return arguments + list(options)


def _remade(url: str | None, arguments: dict[str, Any]) -> Service:
    return Service(url, **arguments)


_services: weakref.WeakSet[Service] = weakref.WeakSet()
_default: dict[bool, Service] = {}
_default_lock = threading.Lock()


def default_service(agents: bool = False) -> Service:
    """The one of this process, made at the first call. KERNELWRIGHT_URL names one that runs elsewhere, KERNELWRIGHT_KEY its key.

    One with agents also judges, so it serves both once it is there."""
    with _default_lock:
        for kind in (True, False):
            found = _default.get(kind)
            if found is not None and not found._closed and (kind or not agents):
                return found
        url = os.environ.get("KERNELWRIGHT_URL") or None
        made = Service(url, agents=agents, key=os.environ.get("KERNELWRIGHT_KEY") or None)
        _default[agents] = made
        return made


def _after_fork() -> None:
    global _default_lock
    _default_lock = threading.Lock()
    for service in list(_services):
        service._after_fork()


@atexit.register
def _close_all() -> None:
    for service in list(_services):
        if service._own:
            service.close()


os.register_at_fork(after_in_child=_after_fork)
