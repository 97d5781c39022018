#!/usr/bin/env python3
"""Kernels of bench/block_sizes with blocks of 32, 64, 128 and 256 threads, for the judge; and its verdicts as measured times.

  scripts/block_size_jobs.py make FOLDER              writes the variants and FOLDER/jobs.jsonl
  build/kernelwright judge --batch FOLDER/jobs.jsonl --out FOLDER/verdicts.jsonl --backend gpu
  scripts/block_size_jobs.py times FOLDER             writes FOLDER/times.jsonl, and prints measured against modelled

FOLDER/times.jsonl is what `kernelwright calibrate --measured` reads. With --backend emulator the same commands show the
model alone.
"""
import json
import pathlib
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "bench" / "block_sizes"
BLOCKS = (32, 64, 128, 256)
LINE = "constexpr int threads = 32;"


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "jobs.jsonl", "w") as jobs:
        for source in sorted(SOURCES.glob("*.cu")):
            text = source.read_text()
            if LINE not in text or not text.startswith("// task: "):
                sys.exit(f"{source}: no task, or no line '{LINE}'")
            task = text.split("\n", 1)[0].removeprefix("// task: ").strip()
            for block in BLOCKS:
                path = (folder / f"{source.stem}_{block}.cu").resolve()
                path.write_text(text.replace(LINE, f"constexpr int threads = {block};"))
                job = {"id": f"{source.stem}_{block}", "task": task, "kernel_file": str(path)}
                jobs.write(json.dumps(job) + "\n")


def times(folder):
    jobs = {job["id"]: job for job in map(json.loads, open(folder / "jobs.jsonl"))}
    print(f"{'kernel':<26} {'size':<32} {'us':>9}  source, limiter")
    with open(folder / "times.jsonl", "w") as out:
        for verdict in map(json.loads, open(folder / "verdicts.jsonl")):
            job = jobs[verdict["id"]]
            if verdict["status"] != "correct":
                print(f"{verdict['id']:<26} {verdict['status']}: {verdict['summary']}")
            for time in verdict["times"]:
                row = {"task": job["task"], "kernel": job["kernel_file"], "size": time["size"], "us": time["time_us"]}
                out.write(json.dumps(row) + "\n")
                size = ",".join(f"{name}={value}" for name, value in time["size"].items())
                print(f"{verdict['id']:<26} {size:<32} {time['time_us']:>9.2f}  {verdict['time_source']}, {time['limiter']}")


if len(sys.argv) != 3 or sys.argv[1] not in ("make", "times"):
    sys.exit(__doc__)
(make if sys.argv[1] == "make" else times)(pathlib.Path(sys.argv[2]))
