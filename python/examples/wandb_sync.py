#!/usr/bin/env python3
"""Trains the tiny model for a few steps with our own trainer and copies what it logged to W&B's offline files.

    scripts/framework_run.sh wandb python/examples/wandb_sync.py FOLDER
"""

import argparse
import os
import pathlib
import subprocess

import kernelwright as kw
from kernelwright.wandb import sync


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="for the run and for W&B's files")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder).resolve()
    os.environ["KERNELWRIGHT_RUNS"] = str(folder / "runs")
    subprocess.run([kw.find_program(), "train", "sft", "--name", "few-steps", "--set", f"sft.steps={arguments.steps}"], check=True)
    print(f"{sync('few-steps', mode='offline', dir=str(folder))} lines of metrics")


if __name__ == "__main__":
    main()
