#!/usr/bin/env python3
"""Storms among honest kernels: one `judge --batch` of both, and one of the honest kernels alone; every honest verdict must
be the same in both.

    scripts/storm_batch.py [--storms 100] [--honest 1000] [--workers 2] [--folder DIR]

Honest kernels are the suite's naive and optimised ones and those of tests/correct; when more are asked for than there are,
they come again with another comment, which makes another kernel of them. Exit status 1 when a verdict differs."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from storms import ROOT, facts_of

# What may differ from run to run: times, where the kernel lay, and the account of work, which counts the bytes of the
# PTX, into whose debug strings the compiler writes a random number.
VOLATILE = {"id", "work", "compile_ms", "judge_ms", "stages_ms", "from_cache", "kernel_file"}


def honest_kernels():
    kernels = []
    for folder in sorted((ROOT / "tasks").iterdir()):
        for variant in ("naive.cu", "optimised.cu"):
            if (folder / variant).exists():
                kernels.append((f"{folder.name}/{variant}", folder.name, (folder / variant).read_text()))
    for path in sorted((ROOT / "tests/correct").glob("*.cu")):
        kernels.append((path.name, facts_of(path)["task"], path.read_text()))
    return kernels


def storm_kernels():
    return [(path.name, facts_of(path)["task"], path.read_text()) for path in sorted((ROOT / "tests/storms").glob("*.cu"))]


def jobs_of(kernels, count, kind):
    jobs = []
    for number in range(count):
        name, task, text = kernels[number % len(kernels)]
        if number >= len(kernels):
            text += f"\n// copy {number // len(kernels)}\n"
        jobs.append({"id": f"{kind} {number} {name}", "task": task, "kernel": text})
    return jobs


def run_batch(program, folder, name, jobs, workers):
    jobs_path, out = folder / f"{name}.jobs.jsonl", folder / f"{name}.verdicts.jsonl"
    jobs_path.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    out.unlink(missing_ok=True)
    command = [str(program), "judge", "--batch", str(jobs_path), "--out", str(out), "--no-cache", "--backend", "emulator",
               "--workers", str(workers)]
    print(" ".join(command), flush=True)
    subprocess.run(command, cwd=ROOT, check=True)
    verdicts = {}
    for line in out.read_text().splitlines():
        verdict = json.loads(line)
        verdicts[verdict["id"]] = {key: value for key, value in verdict.items() if key not in VOLATILE}
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--storms", type=int, default=100)
    parser.add_argument("--honest", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/kernelwright")
    parser.add_argument("--folder", type=pathlib.Path, help="where jobs and verdicts go; a temporary folder without it")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    honest, storms = honest_kernels(), storm_kernels()
    chance.shuffle(honest)
    chance.shuffle(storms)
    honest_jobs = jobs_of(honest, arguments.honest, "honest")
    mixed = honest_jobs + jobs_of(storms, arguments.storms, "storm")
    chance.shuffle(mixed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        alone = run_batch(arguments.program, folder, "alone", honest_jobs, arguments.workers)
        together = run_batch(arguments.program, folder, "together", mixed, arguments.workers)
    differing = [job["id"] for job in honest_jobs if alone.get(job["id"]) != together.get(job["id"])]
    wrong = [job["id"] for job in honest_jobs if alone[job["id"]]["status"] != "correct"]
    for name in differing[:20]:
        one, other = alone.get(name, {}), together.get(name, {})
        keys = [key for key in one if one.get(key) != other.get(key)]
        print(f"differs: {name}: {keys} {one.get('summary')} / {other.get('summary')}")
    for name in wrong[:20]:
        print(f"not correct: {name}: {alone[name]['summary']}")
    print(f"{len(honest_jobs)} honest kernels alone and among {arguments.storms} storms: {len(differing)} verdicts differ, "
          f"{len(wrong)} are not correct; {len(together)} verdicts of {len(mixed)} jobs")
    return 1 if differing or len(together) != len(mixed) else 0


if __name__ == "__main__":
    sys.exit(main())
