"""Server-sent events, as the service streams conversations and verdicts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


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
    """Lines in, events out."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> Event | None:
        line = line.rstrip("\r\n")
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
        return Event(fields.get("event", "message"), json.loads(fields["data"]), int(fields.get("id", "0")))
