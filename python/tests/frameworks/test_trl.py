"""The adapter for TRL, with the real package: scripts/framework_run.sh trl -m pytest python/tests/frameworks/test_trl.py"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

import kernelwright as kw
from kernelwright.trl import KernelEnv, make_kernel_reward, to_dataset

ROOT = Path(__file__).resolve().parents[3]


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "python" / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_rewards_are_those_of_the_judge(judge, service, good, race):
    reward = make_kernel_reward(shape="gated", judge=kw.AsyncJudge(service), in_flight=2)
    assert inspect.iscoroutinefunction(reward)
    metrics = {}
    answers = [good, [{"role": "assistant", "content": f"Here it is:\n```cuda\n{race}\n```"}], "I cannot.", good]
    got = asyncio.run(reward(prompts=[""] * 4, completions=answers, completion_ids=[[]] * 4, task=["softmax"] * 4,
                             log_metric=metrics.__setitem__))
    wanted = [kw.reward("softmax", text, shape="gated", judge=judge) for text in (good, race, "I cannot.", good)]
    assert got == wanted
    assert wanted[0] > 0.5 and wanted[1] == wanted[2] == 0
    assert metrics["kernel/correct"] == 0.5 and metrics["kernel/speedup"] > 1


def test_a_data_set_without_tasks_is_refused(service):
    with pytest.raises(ValueError, match="column 'task'"):
        asyncio.run(make_kernel_reward(judge=kw.AsyncJudge(service))(prompts=[""], completions=[""]))


def test_data_sets(judge):
    chat = to_dataset(["softmax", kw.Task.from_yaml(ROOT / "examples" / "gated_softmax.yaml")], judge=judge)
    assert [one["role"] for one in chat[0]["prompt"]] == ["system", "user"]
    assert chat[0]["task"] == "softmax" and "pytorch" in chat[1]["task"]
    compact = to_dataset(["softmax"], judge=judge, style="compact", words="learned")
    assert compact[0]["prompt"].startswith("<|gen|>")


def test_environment(judge, service, good, race):
    environment = KernelEnv(turns=2, reward="gated", judge=kw.AsyncJudge(service))

    async def play():
        assert "softmax" in environment.reset(task="softmax", prompt="...")
        assert await environment.get_reward() == 0
        first = await environment.submit(race)
        second = await environment.submit(good)
        return first, second, await environment.submit(good), await environment.get_reward()

    first, second, third, reward = asyncio.run(play())
    assert first and first != second and "over" in third
    course = kw.Environment("softmax", judge=judge, turns=2, reward="gated")
    course.reset()
    assert reward == max(course.step(race).reward, course.step(good).reward) > 0


def test_trainer_plays_the_environment(capsys):
    """Its tool loop calls `submit`, and the environment's own reward is what it learns from; the example compares it with ours."""
    example("trl_environment").main(["--steps", "1"])
    assert capsys.readouterr().out.startswith("1 steps: rewards ")


def test_trainer_takes_a_step(service):
    grpo = example("trl_grpo")
    result = grpo.train(grpo.arguments_of(["--steps", "1", "--samples", "4"]), 1, service)
    assert len(result["rewards"]) == 1 and result["judge_s"] > 0 and result["learn_s"] > 0
