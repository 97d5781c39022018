"""kernelwright-ray, or python -m kernelwright.ray."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ..errors import KernelwrightError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kernelwright-ray", description="Trains on a Ray cluster (docs/ray.md)")
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser(
        "train", help="a training run on several nodes", allow_abbrev=False,
        description="All other options are those of `kernelwright train`: --preset quickstart, --set rl.steps=10 ...")
    train.add_argument("run", help="the run's folder, which every node sees under the same path; or a name in runs/")
    train.add_argument("--ranks", type=int, default=1, help="processes that train, one GPU each where there are any")
    train.add_argument("--judges", type=int, default=0, help="judge services beside them; 0: the ranks judge")
    train.add_argument("--judge-cpus", type=float, default=1.0, help="of each judge, which judges as many kernels at a time")
    train.add_argument("--rank-cpus", type=float, default=1.0)
    train.add_argument("--address", help="of the cluster; `local`: a fresh one on this machine; without it the one that runs here, if any")
    train.add_argument("--restarts", type=int, default=20, help="without a new step in between")
    train.add_argument("--place-seconds", type=float, default=120.0, help="until fewer ranks are tried")
    train.add_argument("--program", help="the program kernelwright on the nodes")
    return parser


def _folder(run: str) -> Path:
    return Path(run) if os.sep in run else Path(os.environ.get("KERNELWRIGHT_RUNS", "runs")) / run


def main(arguments: list[str] | None = None) -> int:
    asked, options = _parser().parse_known_args(arguments)
    for name in ("--judge-on", "--backend", "--judge-secret-file"):
        if asked.judges > 0 and any(option == name or option.startswith(name + "=") for option in options):
            raise SystemExit(f"kernelwright-ray: {name} and --judges exclude each other: the judges' addresses are Ray's to know")
    if asked.ranks < 1 or asked.judges < 0:
        raise SystemExit("kernelwright-ray: at least one rank, and no fewer than no judges")
    from .training import TrainingRequest, connect, train

    connect(asked.address)
    try:
        done = train(TrainingRequest(
            run=_folder(asked.run), options=options, ranks=asked.ranks, judges=asked.judges, judge_cpus=asked.judge_cpus,
            rank_cpus=asked.rank_cpus, restarts=asked.restarts, place_seconds=asked.place_seconds, program=asked.program,
            say=lambda line: print(line, flush=True)))
    except KernelwrightError as problem:
        print(f"kernelwright-ray: {problem}", file=sys.stderr)
        return 1
    print(f"{done.run}: {done.steps_seen} steps seen, ranks started {done.starts} times, {done.judges_replaced} judges replaced"
          + ("; interrupted, the same command resumes" if done.interrupted else ""))
    return 130 if done.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
