"""The adapter for Weights & Biases: what is in its offline files."""

from __future__ import annotations

import json
import math

import pytest

wandb = pytest.importorskip("wandb")

from kernelwright.errors import KernelwrightError
from kernelwright.wandb import main, sync


def records_of(file):
    """LevelDB's log format behind a head of 7 bytes: blocks of 32 KiB, in them parts of records with 7 bytes of head each."""
    data = file.read_bytes()
    assert data[:4] == b":W&B"
    at, whole = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        size, kind = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
        whole += data[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield whole
            whole = b""


def history_of(folder):
    """Every metric that an offline run has kept, by step, and its configuration."""
    from wandb.proto import wandb_internal_pb2

    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    steps, config = {}, {}
    for data in records_of(file):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = {one.key or "/".join(one.nested_key): json.loads(one.value_json) for one in record.history.item}
            steps.setdefault(record.history.step.num, {}).update(items)
        if record.WhichOneof("record_type") == "run":
            config.update({one.key: json.loads(one.value_json) for one in record.run.config.update})
    return steps, config


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "runs" / "night"
    folder.mkdir(parents=True)
    lines = [{"step": 1, "train/loss": 2.5}, {"step": 1, "reward/mean": 0.25}, {"step": 2, "train/loss": "nan"},
             {"step": 7, "train/loss": 1e-9}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 8, "tra')
    (folder / "config.json").write_text('{"learning_rate": 0.001}')
    (folder / "summary.json").write_text('{"score": 0.75}')
    return folder


def test_offline_files_hold_the_metrics(run, tmp_path):
    assert sync(run, mode="offline", dir=str(tmp_path)) == 4
    steps, config = history_of(tmp_path)
    assert steps[1]["train/loss"] == 2.5 and steps[1]["reward/mean"] == 0.25 and steps[7]["train/loss"] == 1e-9
    assert steps[2]["train/loss"] == "NaN" or math.isnan(float(steps[2]["train/loss"]))
    assert 8 not in steps and config["learning_rate"] == 0.001


def test_what_is_no_run_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_RUNS", str(tmp_path))
    with pytest.raises(KernelwrightError, match="there is no run 'nothing'"):
        sync("nothing", mode="offline")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "metrics.jsonl").write_text("[1]\n")
    with pytest.raises(SystemExit, match="line 1"):
        main([str(tmp_path / "bad"), "--offline"])
