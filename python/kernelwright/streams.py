"""Streams of events that go on after a lost connection: the service keeps a conversation's events, and sends what was missed."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from .errors import ServiceDied, ServiceTimeout
from .events import Event, EventReader
from .http import Patience, error_of
from .service import Service


class ConversationCursor:
    """What was heard of a conversation, and how to ask for the rest."""

    def __init__(self, path: str, body: dict[str, Any]) -> None:
        self._path = path
        # An id of our own: a request that is sent again, because its connection died before `begin`, begins nothing twice.
        self._body = {**body, "id": "conv-" + secrets.token_hex(16)}
        self.id: str | None = None
        self._last = 0
        self.over = False

    def request(self) -> dict[str, Any]:
        if self.id is None:
            return {"method": "POST", "url": self._path, "json": {**self._body, "stream": True}}
        return {"method": "GET", "url": f"/v1/conversations/{self.id}/events", "headers": {"Last-Event-ID": str(self._last)}}

    def take(self, event: Event) -> None:
        if event.name == "begin":
            self.id = str(event["id"])
        self._last = max(self._last, event.id)
        self.over = event.name == "end"


def conversation_events(service: Service, cursor: ConversationCursor) -> Iterator[Event]:
    """Events to the end. Whoever stops listening before cancels the conversation."""
    import httpx

    patience = Patience(service.patience)
    try:
        while not cursor.over:
            service.start()
            try:
                with service.client().stream(**cursor.request(), timeout=service.timeouts()) as response:
                    if response.status_code >= 400:
                        response.read()
                        pause = patience.after(response)
                        if pause is None:
                            raise error_of(response)
                        time.sleep(pause)
                        continue
                    reader = EventReader()
                    for chunk in response.iter_bytes():
                        for event in reader.feed(chunk):
                            cursor.take(event)
                            patience = Patience(service.patience)
                            service.note_answer()
                            yield event
                if not cursor.over:
                    time.sleep(service.pause_after(_cut_off(service), patience))
            except httpx.TimeoutException as problem:
                raise ServiceTimeout(f"{service.address} sent no event in time") from problem
            except httpx.TransportError as problem:
                time.sleep(service.pause_after(problem, patience))
    except BaseException:
        if cursor.id is not None and not cursor.over and not service.closed:
            _cancel_quietly(service, cursor.id)
        raise


def _cut_off(service: Service) -> ServiceDied:
    """A proxy, or a service that is ending, may end a stream in good order before the conversation is over."""
    return ServiceDied(f"{service.address} ended a conversation's events before its end")


def _cancel_quietly(service: Service, identity: str) -> None:
    """What the caller is told is why it stopped, not that cancelling failed as well."""
    try:
        service.request("DELETE", f"/v1/conversations/{identity}", timeout=10)
    except Exception:
        pass


async def aconversation_events(service: Service, cursor: ConversationCursor) -> AsyncIterator[Event]:
    """`conversation_events` for asyncio."""
    import httpx

    patience = Patience(service.patience)
    try:
        while not cursor.over:
            client = await service.async_client()
            try:
                async with client.stream(**cursor.request(), timeout=service.timeouts()) as response:
                    if response.status_code >= 400:
                        await response.aread()
                        pause = patience.after(response)
                        if pause is None:
                            raise error_of(response)
                        await asyncio.sleep(pause)
                        continue
                    reader = EventReader()
                    async for chunk in response.aiter_bytes():
                        for event in reader.feed(chunk):
                            cursor.take(event)
                            patience = Patience(service.patience)
                            service.note_answer()
                            yield event
                if not cursor.over:
                    await asyncio.sleep(service.pause_after(_cut_off(service), patience))
            except httpx.TimeoutException as problem:
                raise ServiceTimeout(f"{service.address} sent no event in time") from problem
            except httpx.TransportError as problem:
                await asyncio.sleep(service.pause_after(problem, patience))
    except BaseException:
        if cursor.id is not None and not cursor.over and not service.closed:
            # A task that is being cancelled may not wait for long: the request goes its own way.
            await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(_cancel_quietly, service, cursor.id)))
        raise
