"""HTTP as the service speaks it: clients, errors, and when a request is sent again."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from .errors import KernelwrightError, ServiceDied, ServiceError

if TYPE_CHECKING:
    import httpx

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 5.0
_CONNECT_S = 30.0
_WRITE_S = 60.0


def timeouts(read_s: float | None) -> httpx.Timeout:
    """`read_s`: until the answer begins, and between its parts. Waiting for a free connection is not limited: work queues there."""
    import httpx

    return httpx.Timeout(connect=_CONNECT_S, read=read_s, write=_WRITE_S, pool=None)


def _common(url: str | None, key: str | None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return {"base_url": url or "http://kernelwright", "headers": headers, "trust_env": url is not None}


def make_client(url: str | None, socket: str | None, key: str | None, connections: int) -> httpx.Client:
    import httpx

    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    if socket is None:
        return httpx.Client(limits=limits, **_common(url, key))
    return httpx.Client(transport=httpx.HTTPTransport(uds=socket, limits=limits), **_common(url, key))


def make_async_client(url: str | None, socket: str | None, key: str | None, connections: int) -> httpx.AsyncClient:
    import httpx

    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    if socket is None:
        return httpx.AsyncClient(limits=limits, **_common(url, key))
    return httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=socket, limits=limits), **_common(url, key))


def error_of(response: httpx.Response) -> ServiceError:
    """The service's error, in OpenAI's form; a proxy's page is quoted by its first line."""
    try:
        error = response.json()["error"]
        return ServiceError(response.status_code, error.get("code") or error.get("type"), str(error["message"]), error.get("param"))
    except (ValueError, KeyError, TypeError, AttributeError):
        line = response.text.strip().split("\n", 1)[0][:200]
        return ServiceError(response.status_code, None, line or response.reason_phrase or "no reason was given")


def result_of(response: httpx.Response) -> Any:
    if response.status_code >= 400:
        raise error_of(response)
    if response.headers.get("content-type", "").startswith("application/json"):
        try:
            return response.json()
        except ValueError as problem:
            raise KernelwrightError(f"the service's answer is not JSON: {problem}") from problem
    return response.text


class Patience:
    """How often one request is sent again, and after which pause."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._pause = _FIRST_PAUSE_S

    def _next_pause(self, at_least: float = 0.0) -> float:
        pause = max(self._pause * random.uniform(0.5, 1.0), at_least)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
        return pause

    def after(self, response: httpx.Response) -> float | None:
        """Seconds to wait before the request is sent again; none: the response is what the caller gets."""
        if response.status_code not in (429, 502, 503, 504):
            return None
        try:
            wished = min(float(response.headers.get("retry-after", "0")), 60.0)
        except ValueError:
            wished = 0.0
        pause = self._next_pause(wished)
        return None if time.monotonic() + pause > self._end else pause

    def after_lost_connection(self, problem: Exception, where: str) -> float:
        pause = self._next_pause()
        if time.monotonic() + pause > self._end:
            raise ServiceDied(f"{where} was not reached within {self._seconds:.0f} s: {problem}") from problem
        return pause
