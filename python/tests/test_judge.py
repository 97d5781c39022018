"""Verdicts, one and many, with and without asyncio; what is refused, and how."""

from __future__ import annotations

import asyncio
import itertools
import pickle
import threading
from pathlib import Path

import kernelwright as kw
import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = """pytorch: |
  def reference(x, gate):
      return x * torch.sigmoid(gate)
inputs:
  x:    {dtype: float32, shape: [64, 128]}
  gate: {dtype: float32, shape: [64, 128]}
outputs:
  y:    {dtype: float32, shape: [64, 128]}
"""
OWN_KERNEL = """__global__ void gated(const float* x, const float* gate, float* y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < 64 * 128) y[i] = x[i] / (1.0f + expf(-gate[i]));
}
extern "C" void launch(const float* x, const float* gate, float* y, cudaStream_t stream) {
  gated<<<32, 256, 0, stream>>>(x, gate, y);
}
"""


def test_halves_of_characters_cost_nothing(judge: kw.Judge, good: str) -> None:
    assert judge.judge("softmax", good + "// \ud800").correct
    assert judge.judge_answer("softmax", "I cannot \udfff").status == "no_kernel"


def test_a_right_kernel(judge: kw.Judge, good: str) -> None:
    verdict = judge.judge("softmax", good)
    assert verdict.status == "correct" and verdict.correct and verdict.compiled and verdict.judged
    assert verdict.time_us is not None and verdict.time_us > 0
    assert verdict.speedup is not None and verdict.speedup > 1
    assert verdict["status"] == "correct" and "cases" in verdict and len(dict(verdict)) == len(verdict)
    assert pickle.loads(pickle.dumps(verdict)).json == verdict.json


def test_a_race_is_told_about(judge: kw.Judge, race: str) -> None:
    verdict = judge.judge(kw.Task.named("softmax"), race)
    assert verdict.status == "race" and not verdict.correct and verdict.speedup is None
    assert verdict.findings[0]["line"] == 20
    assert "20" in verdict.feedback and verdict.message


def test_a_task_of_ones_own(judge: kw.Judge, tmp_path: Path) -> None:
    file = tmp_path / "gate.yaml"
    file.write_text(OWN)
    for task in (OWN, kw.Task.from_yaml(OWN), file, str(file), kw.Task.from_yaml(file)):
        assert judge.judge(task, OWN_KERNEL).correct
    assert kw.Task.from_yaml(file).name == "gate"
    assert kw.Task.of(kw.Task.from_yaml(file).save(tmp_path / "copy" / "again.yaml")).name == "gate"


def test_a_folder_brings_its_naive_kernel(judge: kw.Judge, good: str) -> None:
    task = kw.Task.from_yaml(ROOT / "tasks" / "softmax")
    assert task.name == "softmax" and "__global__" in task.yaml
    verdict = judge.judge(task, good)
    assert verdict.correct and verdict.speedup is not None  # over that naive kernel


def test_what_is_refused(judge: kw.Judge, good: str) -> None:
    with pytest.raises(kw.ServiceError, match="did you mean 'softmax'") as caught:
        judge.judge("sofmax", good)
    assert caught.value.status == 400 and caught.value.param == "task"
    with pytest.raises(kw.ServiceError) as caught:
        judge.judge("softmax", "x" * 1_100_000)
    assert caught.value.param == "kernel"
    with pytest.raises(kw.TaskError, match="cannot be read"):
        judge.judge("no/such/task.yaml", good)
    with pytest.raises(TypeError):
        judge.judge("softmax", b"bytes")  # type: ignore[arg-type]
    with pytest.raises(kw.TaskError, match="at most"):
        kw.Task.from_yaml("a: \n" + "x" * 300_000)


def test_many_in_order_and_as_they_are_ready(judge: kw.Judge, good: str, race: str) -> None:
    pairs = [("softmax", good if i % 3 else race) for i in range(40)]
    verdicts = list(judge.judge_many(pairs, in_flight=8))
    assert [v.correct for v in verdicts] == [bool(i % 3) for i in range(40)]
    assert [v.id for v in verdicts] == [str(i) for i in range(40)]
    loose = list(judge.judge_many(pairs, in_flight=16, ordered=False))
    assert sorted(int(v.id) for v in loose) == list(range(40))
    assert all(v.correct == bool(int(v.id) % 3) for v in loose)
    assert list(judge.judge_many([])) == []


def test_no_more_are_asked_for_than_are_in_flight(judge: kw.Judge, good: str) -> None:
    asked = 0

    def endless() -> itertools.count[int]:
        nonlocal asked
        for asked in itertools.count(1):
            yield "softmax", good

    for ordered in (True, False):
        answers = judge.judge_many(endless(), in_flight=4, ordered=ordered)
        assert [next(answers).correct for _ in range(10)] == [True] * 10
        assert asked <= 15
        answers.close()


def test_a_refusal_among_many_is_raised(judge: kw.Judge, good: str) -> None:
    answers = judge.judge_many([("softmax", good), ("nothing", good), ("softmax", good)], in_flight=2)
    with pytest.raises(kw.ServiceError):
        list(answers)


def test_many_threads(judge: kw.Judge, good: str) -> None:
    right: list[bool] = []
    threads = [threading.Thread(target=lambda: right.append(judge.judge("softmax", good).correct)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 16


def test_asyncio(service: kw.Service, good: str, race: str) -> None:
    async def ask() -> list[bool]:
        judge = kw.AsyncJudge(service)
        one, other = await asyncio.gather(judge.judge("softmax", good), judge.judge("softmax", race))
        assert one.correct and other.status == "race"
        pairs = [("softmax", good if i % 2 else race) for i in range(20)]
        loose = [int(v.id) async for v in judge.judge_many(pairs, in_flight=5, ordered=False)]
        assert sorted(loose) == list(range(20))

        async def source():  # type: ignore[no-untyped-def]
            for pair in pairs:
                yield pair

        return [v.correct async for v in judge.judge_many(source(), in_flight=5)]

    for _ in range(2):  # another event loop gets connections of its own
        assert asyncio.run(ask()) == [bool(i % 2) for i in range(20)]


def test_asyncio_can_be_cancelled(service: kw.Service, good: str) -> None:
    async def ask() -> None:
        judge = kw.AsyncJudge(service)
        tasks = [asyncio.ensure_future(judge.judge("softmax", f"{good}\n// {i}")) for i in range(8)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert any(isinstance(one, asyncio.CancelledError) for one in outcomes)
        assert (await judge.judge("softmax", good)).correct

    asyncio.run(ask())
