#!/usr/bin/env python3
"""Trains the tiny model for a few steps with our own trainer, copies what it logged to W&B's offline files, and reads those again.

    scripts/framework_run.sh wandb python/examples/wandb_sync.py FOLDER
"""

import argparse
import json
import pathlib
import subprocess

import kernelwright as kw
from kernelwright.wandb import steps_of, sync


def records_of(file):
    """LevelDB's log format behind a head of 7 bytes: blocks of 32 KiB, in them parts of records with 7 bytes of head each."""
    data = file.read_bytes()
    if data[:4] != b":W&B":
        raise ValueError(f"{file} is not W&B's")
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


def offline_history(folder):
    """Every metric that an offline run has kept, by step, and its configuration."""
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # ends W&B's own process, which may still be writing
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="for the run and for W&B's files")
    parser.add_argument("--steps", type=int, default=4)
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder).resolve()
    run = folder / "few-steps"
    subprocess.run([kw.find_program(), "train", "sft", str(run), "--model", "tiny", "--steps", str(arguments.steps), "--batch", "1024",
                    "--log-every", "1", "--evaluations", "0", "--exam", "0"], check=True, stdout=subprocess.DEVNULL)
    lines = sync(run, mode="offline", dir=str(folder))
    kept, config = offline_history(folder)
    missing = [(step, name) for step, metrics in steps_of(run) for name, value in metrics.items() if kept[step].get(name) != value]
    print(f"{lines} lines of metrics; W&B's file holds steps {sorted(kept)} and {len(config)} keys of the configuration; "
          f"{len(missing)} metrics missing or different")
    if missing:
        raise SystemExit(str(missing[:5]))


if __name__ == "__main__":
    main()
