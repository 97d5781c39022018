"""The adapter for Weights & Biases: what is in its offline files."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

wandb = pytest.importorskip("wandb")

from kernelwright.errors import KernelwrightError
from kernelwright.wandb import main, sync

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from wandb_sync import offline_history


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
    steps, config = offline_history(tmp_path)
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
