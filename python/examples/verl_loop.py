#!/usr/bin/env python3
"""VERL 0.9's V1 rollout without a GPU: its agent-loop manager and workers, its client and load balancer, its TransferQueue and its
advantages are the real ones; a model of transformers answers in the place of vLLM. Our agent loop plays Generator and Optimizer.

    kernelwright data export --for verl --style compact --tasks 2 --family row_sum --out tasks.parquet
    scripts/framework_run.sh verl python/examples/verl_loop.py tasks.parquet
"""

import argparse
import json
import os
import pathlib
import sys
import time
import uuid

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAY_worker_niceness", "0")

import numpy as np
import ray
import torch
import transfer_queue as tq
import verl
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from verl.protocol import DataProto
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.llm_server import LLMServerClient
from verl.workers.rollout.router import GlobalRequestLoadBalancer

import kernelwright.verl as kv
from token_server import TokenServer

ROOT = pathlib.Path(__file__).resolve().parents[2]


def config_of(model, agent_yaml, *more):
    with initialize_config_dir(config_dir=str(pathlib.Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        return compose(config_name="ppo_trainer", overrides=[
            f"actor_rollout_ref.model.path={model}", "actor_rollout_ref.rollout.name=vllm",
            "actor_rollout_ref.rollout.prompt_length=1400", "actor_rollout_ref.rollout.response_length=600",
            "actor_rollout_ref.rollout.calculate_log_probs=true", "actor_rollout_ref.rollout.agent.num_workers=1",
            f"actor_rollout_ref.rollout.agent.agent_loop_config_path={agent_yaml}",
            "actor_rollout_ref.rollout.agent.default_agent_loop=kernelwright", *more])


def rows_of(file, config, tokenizer):
    """As VERL's trainer has them: RLHFDataset reads the file."""
    dataset = RLHFDataset(data_files=[str(file)], tokenizer=tokenizer, config=config.data)
    rows = [dataset[i] for i in range(len(dataset))]
    for row in rows:
        row.update(uid=str(uuid.uuid4()), global_steps=0)
    keys = [key for key in rows[0] if key not in ("dummy_tensor",)]
    return tu.get_tensordict({key: [row[key] for row in rows] for key in keys}), rows


def wait_for(uids, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        listed = tq.kv_list("train").get("train", {})
        states = {uid: listed.get(uid, {}).get("status") for uid in uids}
        if all(state in ("finished", "failure") for state in states.values()):
            return listed, states
        time.sleep(0.5)
    raise TimeoutError(f"not finished in {seconds} s: {states}")


def roll_out(file, model, samples, settings_file, seconds):
    config = config_of(model, settings_file, f"actor_rollout_ref.rollout.n={samples}")
    ray.init(num_cpus=6, num_gpus=0, include_dashboard=False, log_to_driver=True, runtime_env={"env_vars": {
        "PYTHONPATH": os.environ.get("PYTHONPATH", "") + ":" + str(pathlib.Path(__file__).parent), "OMP_NUM_THREADS": "1"}})
    tq.init(OmegaConf.create({"backend": {"SimpleStorage": {"num_data_storage_units": 1}}}))
    server = ray.remote(TokenServer).options(num_cpus=1).remote(str(model))
    balancer = ray.remote(GlobalRequestLoadBalancer).remote(servers={"server": server})
    client = LLMServerClient(config, load_balancer_handle=balancer)
    manager = AgentLoopManagerTQ.create(config, client)
    from transformers import AutoTokenizer
    batch, rows = rows_of(file, config, AutoTokenizer.from_pretrained(model))
    begin = time.perf_counter()
    manager.generate_sequences(batch)
    listed, states = wait_for([row["uid"] for row in rows], seconds)
    keys = sorted(key for key, tag in listed.items() if tag.get("status") == "success")
    fields = ["uid", "prompts", "responses", "response_mask", "rm_scores", "rollout_log_probs", "extra_fields"]
    data = tq.kv_batch_get(keys=keys, partition_id="train", select_fields=fields)
    return {"config": config, "server": server, "keys": keys, "data": data, "states": states, "seconds": time.perf_counter() - begin}


def advantages(run, estimator):
    """By VERL's own function, one number for each row."""
    data = DataProto(batch=run["data"].select("response_mask", "rm_scores").to_padded_tensor())
    data.batch["token_level_rewards"] = data.batch["rm_scores"]
    data.non_tensor_batch["uid"] = np.array(list(run["data"]["uid"]), dtype=object)
    made = compute_advantage_for_multi_trajectories(data, batch_keys=run["keys"], adv_estimator=estimator,
                                                    config=run["config"].algorithm)
    return [float(row[0]) for row in made.batch["advantages"]]


def check(run):
    """Masks, log-probabilities and rewards of every turn; returns one line for each."""
    lines = []
    for i, key in enumerate(run["keys"]):
        fields = {name: run["data"][name][i] for name in ("prompts", "responses", "response_mask", "rm_scores", "rollout_log_probs")}
        extra = run["data"]["extra_fields"][i]
        extra = getattr(extra, "data", extra)
        again = ray.get(run["server"].log_probs.remote(fields["prompts"].tolist(), fields["responses"].tolist()))
        difference = (torch.tensor(again) - fields["rollout_log_probs"]).abs().max().item()
        assert fields["response_mask"].tolist() == [1] * len(fields["responses"]), "every token of a turn is the model's"
        assert difference < 1e-3, f"{key}: log-probabilities differ by {difference}"
        later = extra["turn_scores"][extra["turn"]:]
        credit = sum(0.4 ** k * reward for k, reward in enumerate(later))
        assert abs(fields["rm_scores"].sum().item() - credit) < 1e-5 and abs(fields["rm_scores"][-1].item() - credit) < 1e-5
        lines.append({"key": key[-4:], "turn": extra["turn"], "role": extra["turn_role"], "prompt": len(fields["prompts"]),
                      "response": len(fields["responses"]), "reward": extra["turn_reward"], "credit": credit, "log_prob_diff": difference})
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="rows of `kernelwright data export --for verl --style compact`")
    parser.add_argument("--model", default=str(ROOT / "weights" / "tiny"))
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--settings", default=str(kv.agent_yaml()))
    parser.add_argument("--seconds", type=float, default=1200)
    arguments = parser.parse_args()
    run = roll_out(arguments.file, arguments.model, arguments.samples, arguments.settings, arguments.seconds)
    try:
        lines = check(run)
        by_turn = advantages(run, "rloo")
        stock = advantages(run, "grpo")
        for line, ours, theirs in zip(lines, by_turn, stock, strict=True):
            print(json.dumps({**line, "advantage_rloo": ours, "advantage_grpo": theirs}))
        print(f"{len(lines)} turns of {len(run['states'])} prompts x {arguments.samples} samples in {run['seconds']:.0f} s; "
              f"states {sorted(set(run['states'].values()))}; roles {sorted({line['role'] for line in lines})}; "
              f"largest difference of log-probabilities {max(line['log_prob_diff'] for line in lines):.1e}")
    finally:
        tq.close()
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
