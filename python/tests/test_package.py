"""What must be said in two places is said alike."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import kernelwright as kw
import pytest
from kernelwright.events import EventReader

ROOT = Path(__file__).resolve().parents[2]
PROJECT = (ROOT / "python" / "pyproject.toml").read_text()


def test_versions_agree() -> None:
    version = re.search(r"project\(kernelwright VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert version is not None and kw.__version__ == version[1] and f'version = "{version[1]}"' in PROJECT
    assert kw.Service.__doc__ and kw.Judge.judge_many.__doc__


def test_a_carried_program_needs_what_it_was_built_with() -> None:
    pinned = re.findall(r"^[\w-]+==\S+$", (ROOT / "scripts" / "requirements.txt").read_text(), re.MULTILINE)
    extra = re.search(r"^program = \[(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)
    assert extra is not None and re.findall(r'"([^"]+)"', extra[1]) == pinned


def test_every_name_leads_somewhere() -> None:
    for name, place in kw._PLACES.items():
        assert name != place  # importing a module of that name would hide what is meant
        if (ROOT / "python" / "kernelwright" / f"{place}.py").exists() and place not in ("torch_task", "replacement"):  # these need torch
            assert getattr(importlib.import_module(f"kernelwright.{place}"), name) is getattr(kw, name)


def test_events_end_with_a_line_feed_alone() -> None:
    reader = EventReader()
    text = "id: 3\nevent: answer\ndata: {\"kernel\": \"a\u2028b\x85c\"}\n\n: still there\n\nevent: end\r\ndata: {}\r\n\r\n".encode()
    events = [event for i in range(0, len(text), 5) for event in reader.feed(text[i : i + 5])]  # cut anywhere, also inside a character
    assert [(event.id, event.name) for event in events] == [(3, "answer"), (0, "end")]
    assert events[0]["kernel"] == "a\u2028b\x85c"


def test_what_is_no_event_is_an_error_of_ours() -> None:
    for hostile in (b"data: {\n\n", b"data: 7\n\n", b"id: x\ndata: {}\n\n", b"data: " + b"[" * 100_000 + b"\n\n"):
        with pytest.raises(kw.KernelwrightError, match="an event"):
            list(EventReader().feed(hostile))
    endless = EventReader()
    with pytest.raises(kw.KernelwrightError, match="MiB"):
        for _ in range(100):
            list(endless.feed(b"x" * (1 << 20)))


def test_what_is_no_verdict_is_an_error_of_ours() -> None:
    for hostile in (None, [], {}, {"verdict": None}, {"verdict": 7}, {"verdict": {}}, {"verdict": ["ab"]}, {"verdict": {"status": 1}}):
        with pytest.raises(kw.KernelwrightError, match="no verdict"):
            kw.Verdict.from_answer(hostile)
