"""The adapter for VERL, with the real package: reward manager, data set, agent-loop worker. A model of transformers stands in for vLLM;
the whole V1 rollout with Ray and TransferQueue is python/examples/verl_loop.py."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verl")

import numpy as np
import torch
from tensordict import TensorDict
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.protocol import DataProto
from verl.trainer.ppo.reward import load_reward_manager
from verl.utils.dataset.rl_dataset import RLHFDataset

import kernelwright as kw
import kernelwright.verl as kv

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python" / "examples"))

from token_server import TokenServer
from verl_loop import config_of

TINY = ROOT / "weights" / "tiny"


@pytest.fixture(scope="module", autouse=True)
def url(tmp_path_factory):
    """VERL's workers find the judge by the environment."""
    folder = tmp_path_factory.mktemp("judge")
    socket = folder / "kw.sock"
    process = subprocess.Popen([kw.find_program(), "serve", "--socket", str(socket), "--no-agents", "--quiet"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_URL", f"unix:{socket}")
        yield f"unix:{socket}"
    process.terminate()
    assert process.wait(timeout=120) == 0


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    settings = tmp_path_factory.mktemp("agent") / "agent.yaml"
    settings.write_text("- {name: kernelwright, _target_: kernelwright.verl_loop.KernelAgentLoop, turns: 2, shape: weighted, words: learned}\n"
                        "- {name: chat, _target_: kernelwright.verl_loop.KernelAgentLoop, turns: 2, style: chatml, sequence: conversation}\n")
    return config_of(TINY, settings, "reward.custom_reward_function.path=pkg://kernelwright.verl",
                     "+reward.custom_reward_function.reward_kwargs.shape=gated")


@pytest.fixture(scope="module")
def worker(config):
    return AgentLoopWorker(config, TokenServer(TINY, most_tokens=400, seed=3))


def answered(worker, text, task, **extra):
    ids = torch.tensor([worker.tokenizer.encode(text, add_special_tokens=False)])
    return DataProto(batch=TensorDict({"prompts": torch.zeros(1, 1, dtype=torch.int64), "responses": ids,
                                       "attention_mask": torch.ones(1, ids.size(1) + 1, dtype=torch.int64)}, batch_size=1),
                     non_tensor_batch={"data_source": np.array(["kernelwright/train"], dtype=object),
                                       "reward_model": np.array([{"ground_truth": task}], dtype=object),
                                       "extra_info": np.array([dict(extra)], dtype=object)})


def test_compute_score_through_the_reward_manager(config, worker, url, good, race):
    manager = load_reward_manager(config, worker.tokenizer)

    async def scores():
        return await asyncio.gather(*(manager.run_single(answered(worker, *one)) for one in
                                      ((good, "softmax"), (race, "softmax"), ("no kernel", "softmax"))),
                                    manager.run_single(answered(worker, good, "softmax", role="optimizer", kernel=race)))

    got = manager.loop.run_until_complete(scores())
    judge = kw.Judge(url)
    wanted = [kw.reward("softmax", text, shape="gated", judge=judge) for text in (good, race, "no kernel")]
    given = judge.judge("softmax", race).json
    wanted.append(kw.reward("softmax", good, shape={"shape": "gated", "role": "optimizer", "given": given}, judge=judge))
    assert [one["reward_score"] for one in got] == wanted
    assert wanted[0] > wanted[1] == wanted[2] == 0 and wanted[3] > 0
    assert {tuple(one["reward_extra_info"]) for one in got} == {("score", "correct", "compiled", "speedup")}


def test_rows_are_those_that_verl_reads(config, worker, tmp_path):
    file = tmp_path / "tasks.parquet"
    subprocess.run([kw.find_program(), "data", "export", "--for", "verl", "--tasks", "5", "--seed", "4", "--out", str(file)], check=True)
    rows = RLHFDataset(data_files=[str(file)], tokenizer=worker.tokenizer, config=config.data)
    assert len(rows) == 5
    row = rows[3]
    assert [one["role"] for one in row["raw_prompt"]] == ["system", "user"]
    assert row["index"] == 3 and row["extra_info"]["role"] == "generator" and row["data_source"] == "kernelwright/train"
    task = kv.task_of_row(row["reward_model"]["ground_truth"])
    assert task.name == row["extra_info"]["task"] and '"naive"' in task.yaml
    assert kw.Judge().judge(task, "int x;").status != "internal_error"


def run_loop(worker, name, row):
    """The worker's own way to its agent loops; what comes out is looked at before it is padded."""
    outputs = []

    async def keep(output, validate, **_):
        outputs.extend(output if isinstance(output, list) else [output])
        return output

    worker._agent_loop_postprocess = keep
    parameters = {"temperature": 0.8, "top_p": 1.0, "top_k": -1, "logprobs": True}
    trajectory = {"step": 0, "sample_index": 0, "rollout_n": 0, "validate": False}
    asyncio.run(worker._run_agent_loop(parameters, trajectory, agent_name=name, trace=False, **row))
    return outputs


def log_probs_agree(worker, output):
    again = worker.llm_client.log_probs(output.prompt_ids, output.response_ids)
    return all(abs(a - b) < 1e-3 for a, b, mask in zip(again, output.response_logprobs, output.response_mask, strict=True) if mask)


def test_turns_are_outputs_with_rewards_of_their_own(worker):
    row = {"raw_prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": "row_sum"}, "extra_info": {}}
    first, second = run_loop(worker, "kernelwright", row)
    assert [one.extra_fields["turn_role"] for one in (first, second)] == ["generator", "optimizer"]
    assert worker.tokenizer.decode(second.prompt_ids).startswith("<|opt|>")
    for output in (first, second):
        assert output.response_mask == [1] * len(output.response_ids) and log_probs_agree(worker, output)
    rewards = first.extra_fields["turn_scores"]
    assert first.reward_score == pytest.approx(rewards[0] + 0.4 * rewards[1]) and second.reward_score == pytest.approx(rewards[1])
    first.reward_score = second.reward_score  # what VERL's V1 worker does to all but the last
    scores = first.as_dict()["rm_scores"]
    assert scores[-1].item() == pytest.approx(rewards[0] + 0.4 * rewards[1]) and scores[:-1].abs().sum() == 0
    assert "token_rewards" not in first.as_dict()


def test_a_conversation_is_one_output_with_masked_words_of_the_judge(worker):
    # The tiny model has no chat template; the shortest that tells turns apart is enough to look at tokens.
    worker.tokenizer.chat_template = ("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}<|end|>\n{% endfor %}"
                                      "{% if add_generation_prompt %}assistant: {% endif %}")
    row = {"raw_prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": "row_sum"}, "extra_info": {}}
    worker.llm_client.most_tokens = 60
    (output,) = run_loop(worker, "chat", row)
    mask, ids = output.response_mask, output.response_ids
    assert len(mask) == len(ids) == len(output.response_logprobs) and 0 in mask and mask[0] == 1
    judged = worker.tokenizer.decode([one for one, generated in zip(ids, mask, strict=True) if not generated])
    assert "user:" in judged and "assistant:" in judged
    assert all(score == 0 for score, generated in zip(output.response_logprobs, mask, strict=True) if not generated)
    assert log_probs_agree(worker, output)
    written = [request for request in worker.llm_client.requests if request[1][:len(output.prompt_ids)] == output.prompt_ids][-1][1]
    assert (output.prompt_ids + ids)[:len(written)] == written, "the second turn read exactly these tokens"
    assert len(output.extra_fields["turn_scores"]) == 2 and len(output.token_rewards) == 2
