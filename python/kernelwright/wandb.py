"""Weights & Biases: `sync(run)` copies what a training run of ours has logged; also while it goes on, and without a network.

    python -m kernelwright.wandb my-run --offline        # then `wandb sync` where there is a network
    python -m kernelwright.wandb my-run --follow         # until the run ends
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import KernelwrightError

_MOST_LINE = 1 << 20
_MOST_FILE = 64 << 20


def run_folder(run: str | os.PathLike[str]) -> Path:
    """A run's folder, or its name in KERNELWRIGHT_RUNS (default runs/)."""
    for folder in (Path(run), Path(os.environ.get("KERNELWRIGHT_RUNS") or "runs") / run):
        if (folder / "metrics.jsonl").is_file():
            return folder
    raise KernelwrightError(f"there is no run '{run}' with a metrics.jsonl; KERNELWRIGHT_RUNS names the folder of all runs")


def _object(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _MOST_FILE:
            raise KernelwrightError(f"{file} is too large")
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as problem:
        raise KernelwrightError(f"{file} is no JSON: {problem}") from problem
    return found if isinstance(found, dict) else {}


def _step(line: str, file: Path, number: int) -> tuple[int, dict[str, float]]:
    try:
        found = json.loads(line)
        step = found.pop("step")
        # Numbers that JSON has no word for are strings: "nan", "inf", "-inf".
        return int(step), {name: float(value) for name, value in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise KernelwrightError(f"{file}, line {number}: no step with numbers: {problem}") from problem


def steps_of(folder: Path, *, follow: bool = False, pause_s: float = 1.0) -> Iterator[tuple[int, dict[str, float]]]:
    """Steps and their metrics. `follow` waits for more until the run has a summary. A line that is being written is not read yet."""
    file = folder / "metrics.jsonl"
    number = 0
    with open(file, encoding="utf-8") as lines:
        while True:
            ended = (folder / "summary.json").exists()
            at = lines.tell()
            line = lines.readline(_MOST_LINE + 1)
            if line.endswith("\n"):
                number += 1
                yield _step(line, file, number)
                continue
            if len(line) > _MOST_LINE:
                raise KernelwrightError(f"{file}, line {number + 1} is too long")
            if not follow or ended:
                return
            lines.seek(at)
            time.sleep(pause_s)


def sync(run: str | os.PathLike[str], *, project: str = "kernelwright", follow: bool = False, mode: str | None = None,
         **settings: Any) -> int:
    """Logs every step of a run, its configuration and its summary to W&B, and gives the number of steps.

    mode: "offline" writes files that `wandb sync` uploads later; None is W&B's own default (WANDB_MODE). `settings` go to wandb.init.
    Steps of W&B only go up: one that is lower than those before it is left out."""
    import wandb

    folder = run_folder(run)
    settings.setdefault("name", folder.name)
    settings.setdefault("config", {**_object(folder / "config.json"), "machine": _object(folder / "machine.json")})
    last, count = -1, 0
    with wandb.init(project=project, mode=mode, **settings) as target:
        for step, metrics in steps_of(folder, follow=follow):
            if step < last:
                continue
            target.log(metrics, step=step)
            last, count = step, count + 1
        target.summary.update({f"summary/{name}": value for name, value in _object(folder / "summary.json").items()
                               if isinstance(value, (int, float, str, bool))})
    return count


def main(line: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m kernelwright.wandb", description="Copies a training run's metrics to W&B")
    parser.add_argument("run", help="a run's name or folder")
    parser.add_argument("--project", default="kernelwright")
    parser.add_argument("--offline", action="store_true", help="write files for `wandb sync` instead of sending them")
    parser.add_argument("--follow", action="store_true", help="go on until the run has ended")
    arguments = parser.parse_args(line)
    try:
        count = sync(arguments.run, project=arguments.project, follow=arguments.follow, mode="offline" if arguments.offline else None)
    except KernelwrightError as problem:
        raise SystemExit(f"kernelwright: {problem}") from None
    print(f"{count} steps")


if __name__ == "__main__":
    main()
