"""Server-sent events, as the service streams conversations and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .errors import KernelwrightError

_MOST_BYTES = 64 << 20  # of one event: whoever sends more sends no events


@dataclass(frozen=True)
class Event:
    """One event of a conversation (docs/service.md lists them): `event["kernel"]` reads a member of its data."""

    name: str
    data: dict[str, Any] = field(default_factory=dict)
    id: int = 0  # 0: it is not kept, as the tokens of an answer

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.data.get(key, default)


class EventReader:
    """Bytes in, events out. Only a line feed ends a line here: JSON may hold other characters that Python takes for line ends."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, str] = {}

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Raises KernelwrightError where something else than the service answers."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) + sum(map(len, self._fields.values())) > _MOST_BYTES:
            raise KernelwrightError(f"an event has over {_MOST_BYTES >> 20} MiB")
        for line in lines:
            event = self._take(line.rstrip(b"\r").decode("utf-8", "replace"))
            if event is not None:
                yield event

    def _take(self, line: str) -> Event | None:
        if line.startswith(":"):
            return None
        if line:
            key, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            self._fields[key] = self._fields[key] + "\n" + value if key in self._fields else value
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        try:
            data, number = json.loads(fields["data"]), int(fields.get("id", "0"))
        except (ValueError, RecursionError) as problem:
            raise KernelwrightError(f"an event cannot be read: {fields['data'][:200]!r}") from problem
        if not isinstance(data, dict):
            raise KernelwrightError(f"an event is no object: {fields['data'][:200]!r}")
        return Event(fields.get("event", "message"), data, number)
