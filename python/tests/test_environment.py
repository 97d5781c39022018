"""Rewards and conversations of a model with the judge; the texts are the program's."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import kernelwright as kw
import pytest

ROOT = Path(__file__).resolve().parents[2]
NAIVE = (ROOT / "tasks" / "softmax" / "naive.cu").read_text()


def fenced(kernel: str) -> str:
    return f"Strategy: something else.\n```cuda\n{kernel}```\n"


def by_the_program(*arguments: str, text: str | None = None) -> dict[str, object]:
    done = subprocess.run([kw.find_program(), *arguments, "--json"], input=text, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def test_a_reward_is_the_programs(judge: kw.Judge, good: str, tmp_path: Path) -> None:
    details = kw.reward_with_details("softmax", fenced(good), judge=judge)
    assert details.judged and details.verdict.correct and details.kernel is not None and details.kernel.strip() == good.strip()
    for shape in ("gated", "weighted", "final", "hardware"):
        expected = by_the_program("reward", "-", "--shape", shape, text=json.dumps(details.verdict.json))
        paid = kw.reward_with_details("softmax", fenced(good), shape=shape, judge=judge)
        assert paid.total == expected["total"] > 0 and paid.terms == expected["terms"] and paid.decision == expected["decision"]
    old = judge.judge("softmax", NAIVE).json
    (tmp_path / "old.json").write_text(json.dumps(old))
    expected = by_the_program("reward", "-", "--shape", "weighted", "--role", "optimizer", "--given", str(tmp_path / "old.json"),
                              "--target", "4", "--weight", "speed=0.5", "--logarithmic", text=json.dumps(details.verdict.json))
    shape = {"shape": "weighted", "role": "optimizer", "given": old, "target": 4, "weights": {"speed": 0.5}, "logarithmic": True}
    assert kw.reward("softmax", fenced(good), shape=shape, judge=judge) == expected["total"]


def test_answers_without_a_kernel_are_worth_nothing(judge: kw.Judge, good: str) -> None:
    for answer, outcome in (("", "empty"), ("I would rather not.", "no_code"), (fenced(good[: len(good) // 2]), "truncated")):
        details = kw.reward_with_details("softmax", answer, judge=judge)
        assert details.total == 0 and details.judged
        assert details.verdict.status == "no_kernel" and not details.verdict.correct and details.verdict.answer is not None
        if outcome != "truncated":
            assert details.verdict.answer["outcome"] == outcome
        assert details.verdict.feedback


def test_a_judge_that_fails_pays_nothing_and_says_so(judge: kw.Judge) -> None:
    broken = kw.Task.from_yaml("name: broken\npytorch: |\n  def reference(x):\n      return torch.no_such_thing(x)\n"
                               "inputs:\n  x: {dtype: float32, shape: [8]}\noutputs:\n  y: {dtype: float32, shape: [8]}\n")
    kernel = ("__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }\n"
              "extern \"C\" void launch(const float* x, float* y, cudaStream_t stream) { k<<<1, 8, 0, stream>>>(x, y); }\n")
    assert not kw.reward_with_details(broken, fenced(kernel), judge=judge).judged
    with pytest.raises(kw.NotJudged):
        kw.reward(broken, fenced(kernel), judge=judge)


def test_an_episode(judge: kw.Judge, good: str, race: str) -> None:
    environment = kw.Environment("softmax", judge=judge, turns=4)
    seen = environment.reset()
    assert (seen.turn, seen.done, seen.role, seen.reward, seen.verdict) == (0, False, "generator", None, None)
    expected = by_the_program("prompt", "softmax", "--as-written")
    assert seen.messages == expected["messages"] and seen.prompt == expected["text"]

    seen = environment.step("I do not know.")  # costs its turn
    assert (seen.turn, seen.role, seen.reward, seen.best) == (1, "generator", 0, None)
    assert seen.messages == expected["messages"] and seen.feedback

    seen = environment.step(fenced(race))
    assert seen.role == "optimizer" and seen.verdict is not None and seen.verdict.status == "race"
    assert "Verdict: race" in seen.messages[1]["content"] and "line 20" in seen.messages[1]["content"] and "20" in seen.feedback
    first = seen.reward

    seen = environment.step(fenced(good))
    assert seen.verdict is not None and seen.verdict.correct and seen.best is seen.verdict and seen.best_kernel is not None
    assert first is not None and seen.reward is not None and seen.reward > first and seen.info["terms"]
    assert "Verdict: correct" in seen.prompt and "Tried before" in seen.prompt

    seen = environment.step(fenced(NAIVE))  # right, but slower: the best stays
    assert seen.done and seen.turn == 4 and seen.messages == [] and seen.best_kernel is not None
    assert seen.best_kernel.strip() == good.strip()
    with pytest.raises(RuntimeError, match="over"):
        environment.step(fenced(good))
    assert environment.reset().turn == 0


def test_rules_are_those_of_the_agents(judge: kw.Judge, good: str) -> None:
    """The improvement is paid over the kernel that was shown, as `kernelwright reward --given` has it."""
    environment = kw.Environment("softmax", judge=judge, turns=2, kernel=NAIVE, target=1.5)
    seen = environment.reset()
    assert seen.role == "optimizer" and "Target: 1.5" in seen.prompt and seen.best is not None
    seen = environment.step(good)  # a file as it is will do
    assert seen.done and seen.turn == 1  # the target was reached
    improvement = [term["points"] for term in seen.info["terms"] if term["name"] == "improvement"]
    assert improvement and improvement[0] > 0


def test_the_last_kernel_instead_of_the_best(judge: kw.Judge, good: str) -> None:
    environment = kw.Environment("softmax", judge=judge, turns=3, go_on_with="last")
    environment.reset()
    environment.step(good)
    seen = environment.step(NAIVE)
    assert seen.best_kernel is not None and seen.best_kernel.strip() == good.strip()
    assert "softmax" in seen.prompt and NAIVE.strip().splitlines()[-2].strip() in seen.prompt


def test_learned_words(judge: kw.Judge) -> None:
    compact = kw.Environment("softmax", judge=judge, words="learned", style="compact").reset()
    assert compact.prompt == by_the_program("prompt", "softmax", "--style", "compact")["text"] and compact.messages == []


def test_asyncio(service: kw.Service, good: str) -> None:
    async def play() -> list[float | None]:
        judge = kw.AsyncJudge(service)

        async def one() -> float | None:
            environment = kw.AsyncEnvironment("softmax", judge=judge, turns=1)
            assert not (await environment.reset()).done
            seen = await environment.step(fenced(good))
            assert seen.done
            return seen.reward

        rewards = await asyncio.gather(*(one() for _ in range(8)))
        assert await kw.areward("softmax", fenced(good), shape={"shape": "weighted", "role": "generator"}, judge=judge) == rewards[0]
        return rewards

    rewards = asyncio.run(play())
    assert len(set(rewards)) == 1 and rewards[0] is not None and rewards[0] > 0.6
