"""Tasks of the grammar (docs/data.md): an endless stream, of which task i of a seed and split is always the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .service import Service, default_service
from .task import Task

_BATCH = 32


def task_of_draw(one: Mapping[str, Any]) -> Task:
    """A task as POST /v1/draw gives it."""
    return Task(str(one["task"]["name"]), json.dumps(one["task"]))


def drawn_tasks(*, seed: int = 0, split: str = "train", families: Sequence[str] = (), first: int = 0, count: int | None = None,
                service: Service | None = None) -> Iterator[Task]:
    """`split`: "train", or what training never shows: "composition" and "novel". `families`: only these (`kernelwright data families`).
    `count`: None goes on for ever."""
    asked = service if service is not None else default_service()
    at, end = first, None if count is None else first + count
    while end is None or at < end:
        size = _BATCH if end is None else min(_BATCH, end - at)
        body = {"seed": seed, "split": split, "families": list(families), "first": at, "count": size}
        for one in asked.request("POST", "/v1/draw", body)["tasks"]:
            yield task_of_draw(one)
        at += size
