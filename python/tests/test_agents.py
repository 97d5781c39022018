"""Conversations of the agents that come with the program."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import kernelwright as kw
from kernelwright.streams import ConversationCursor, conversation_events
import pytest


@pytest.fixture(scope="module")
def agents() -> Iterator[kw.Agents]:
    with kw.Service(agents=True, workers=2) as service:
        yield kw.Agents(service)


def test_generate(agents: kw.Agents) -> None:
    events = list(agents.generate("relu"))
    names = [event.name for event in events]
    assert names[0] == "begin" and names[-1] == "end" and "verdict" in names and "text" in names
    answer = next(event for event in events if event.name == "answer")
    assert "__global__" in answer["kernel"] and answer.get("nothing") is None


def test_optimize_with_a_kernel(agents: kw.Agents, good: str) -> None:
    events = list(agents.optimize("softmax", good, turns=1, samples=2, seed=3))
    assert [event.name for event in events][:3] == ["begin", "baseline", "given"]
    assert events[1]["name"] == "naive" and events[1]["writer"] == "user"
    assert events[2]["verdict"]["correct"] and events[2]["writer"] == "user"
    best = agents.best("softmax", good, turns=1, samples=2, seed=3)
    assert best.speedup is not None and best.speedup >= events[2]["verdict"]["speedup_naive"]
    assert kw.Judge(agents.service).judge("softmax", best.kernel).correct


def test_beginning_with_the_librarys_kernel(agents: kw.Agents) -> None:
    yaml = ("pytorch: |\n  def reference(x):\n      return x * 3\ninputs:\n  x: {dtype: float32, shape: [24, 40]}\n"
            "outputs:\n  y: {dtype: float32, shape: [24, 40]}\n")
    events = list(agents.optimize(yaml, turns=1, samples=1, from_="library"))
    named = {event.name: event for event in events}
    assert named["baseline"]["name"] == "library" and named["baseline"]["verdict"]["correct"]
    assert named["given"]["writer"] == "library" and named["given"]["kernel"] == named["baseline"]["kernel"]
    assert named["question"]["role"] == "optimizer"


def test_stopping_to_listen_cancels(agents: kw.Agents) -> None:
    stream = agents.optimize("softmax", turns=20, samples=8, seed=5)
    identity = next(stream)["id"]
    stream.close()  # type: ignore[attr-defined]
    end = time.monotonic() + 300
    while agents.service.request("GET", f"/v1/conversations/{identity}")["state"] != "cancelled":
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_crash_in_between_is_not_noticed(agents: kw.Agents) -> None:
    stream = agents.optimize("relu", turns=2, samples=2, seed=7)
    heard = [next(stream)]
    before = agents.service.restarts
    to_kill = agents.service.child_pid
    for event in stream:
        heard.append(event)
        if event.name == "verdict" and to_kill is not None:
            os.kill(to_kill, signal.SIGKILL)
            to_kill = None
    assert heard[-1].name == "end" and heard[-1]["best"]["kernel"]
    kept = [event.id for event in heard if event.id]
    assert kept == list(range(1, len(kept) + 1))  # none is missing, none came twice
    assert agents.service.restarts > before


def test_a_connection_that_dies_before_it_begins_begins_nothing_twice(agents: kw.Agents) -> None:
    def known() -> int:
        return len(agents.service.request("GET", "/v1/conversations")["conversations"])

    agents.service.start()
    before = known()
    cursor = ConversationCursor("/v1/optimize", {"task": "relu", "turns": 1, "samples": 1})
    with agents.service.client().stream(**cursor.request(), timeout=300) as response:
        next(response.iter_bytes())  # it has begun, but who asked does not know that yet
    heard = list(conversation_events(agents.service, cursor))
    assert heard[0].name == "begin" and heard[-1].name == "end" and known() == before + 1


def test_what_is_refused(agents: kw.Agents) -> None:
    with pytest.raises(kw.ServiceError) as caught:
        list(agents.optimize("softmax", turns=0))
    assert caught.value.param == "turns"
    with pytest.raises(kw.ServiceError):
        list(kw.Agents(agents.service, model="nobody").generate("relu"))


def test_asyncio(agents: kw.Agents) -> None:
    async def talk() -> list[str]:
        asked = kw.AsyncAgents(agents.service)
        best, names = await asyncio.gather(asked.best("relu", turns=1, samples=1), _names(asked))
        assert best.kernel
        return names

    async def _names(asked: kw.AsyncAgents) -> list[str]:
        return [event.name async for event in asked.generate("add")]

    names = asyncio.run(talk())
    assert names[0] == "begin" and names[-1] == "end"
