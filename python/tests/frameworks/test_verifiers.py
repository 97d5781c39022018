"""The adapter for verifiers: its taskset and environment are found by name, and its own agents and runner play an episode."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers")

import verifiers.v1 as vf

import kernelwright as kw
from kernelwright.verifiers import KernelEnv, KernelTaskset

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "verifiers_episodes.py"


@pytest.fixture(autouse=True)
def one_service(service, monkeypatch):
    """All of this process ask the same judge."""
    import kernelwright.verifiers as ours

    monkeypatch.setattr(ours, "_judge", lambda url: kw.AsyncJudge(service))


def configured(**settings):
    config = vf.taskset_config_type("kernelwright_verifiers")
    return vf.load_taskset(config(id="kernelwright_verifiers", **settings))


def test_the_grammar_is_an_endless_taskset():
    taskset = configured(split="novel", style="compact", words="learned")
    assert isinstance(taskset, KernelTaskset) and not taskset.bounded and taskset.take(2).bounded
    first, second = itertools.islice(taskset, 2)
    again = next(iter(configured(split="novel", style="compact", words="learned")))
    assert first.data.prompt.startswith("<|gen|>") and first.key == again.key != second.key


def test_named_tasks():
    (task,) = configured(tasks=["softmax"])
    assert task.data.name == task.data.task == "softmax"
    assert "softmax" in task.data.prompt and task.data.system_prompt


def test_environment_is_found_by_the_name_of_its_taskset():
    assert vf.environment_class("kernelwright_verifiers") is KernelEnv


def test_the_runner_plays_an_episode():
    done = subprocess.run([sys.executable, str(EXAMPLE), "--episodes", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 episodes, 1 answers, 1 episodes with the judge's own rewards" in done.stdout
