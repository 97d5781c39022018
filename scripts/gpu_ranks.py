#!/usr/bin/env python3
"""Ranks on one NVIDIA GPU: what NCCL with one rank costs, whether gradients of two and four ranks are one rank's, whether training goes
the same way, and what of the exchange happens during the backward pass. Ranks that share a card talk over sockets: how long that takes
says nothing about real links. libtorch's folders are found where python3 has torch.

    scripts/gpu_ranks.py RESULTS [--build build] [--seconds 240] [--only gradient,loss,cost,overlap]
"""
import argparse
import concurrent.futures
import glob
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SFT = ["--steps", "50", "--batch", "16384", "--exam", "0", "--optimizer-exam", "0", "--evaluations", "0", "--audit", "0",
       "--log-every", "1", "--producers", "2", "--device", "gpu", "--seed", "3"]


def library_path():
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return os.environ.get("LD_LIBRARY_PATH", "")
    site = pathlib.Path(found.origin).parent.parent
    folders = [str(site / "torch" / "lib")] + sorted(glob.glob(str(site / "nvidia" / "*" / "lib")))
    return ":".join(folders + [part for part in [os.environ.get("LD_LIBRARY_PATH")] if part])


class Runner:
    def __init__(self, results, build, seconds):
        self.results, self.build, self.end = results, build, time.monotonic() + seconds
        self.environment = dict(os.environ, LD_LIBRARY_PATH=library_path(), KERNELWRIGHT_CACHE=str(results / "cache"),
                                KERNELWRIGHT_RANKS_SHARE_GPU="1", KERNELWRIGHT_RANKS_DEADLINE_S="60", KERNELWRIGHT_RANKS_JOIN_S="60")
        self.environment.setdefault("KERNELWRIGHT_TASKS", str(ROOT / "tasks"))
        self.environment.setdefault("KERNELWRIGHT_PROFILES", str(ROOT / "profiles"))

    def program(self, name):
        for place in [self.build / name, *self.build.glob(f"src/*/*/{name}")]:
            if os.access(place, os.X_OK) and place.is_file():
                return str(place)
        sys.exit(f"there is no {name} in {self.build}")

    def run(self, name, command):
        """What it printed; none: it failed, or time is over. All of it is kept."""
        left = self.end - time.monotonic()
        if left < 5:
            print(f"  {name}: no time left", flush=True)
            return None
        began = time.monotonic()
        with open(self.results / f"{name}.out", "w") as out, open(self.results / f"{name}.err", "w") as err:
            try:
                code = subprocess.run(command, stdout=out, stderr=err, env=self.environment, timeout=min(left, 90)).returncode
            except subprocess.TimeoutExpired:
                code = "time is over"
        took = time.monotonic() - began
        last = (self.results / f"{name}.err").read_text().strip().splitlines()[-1:] if code != 0 else []
        print(f"  {name}: {'ok' if code == 0 else f'FAILED, {code}: {last}'}, {took:.1f} s", flush=True)
        return (self.results / f"{name}.out").read_text() if code == 0 else None

    def bench(self, name, *words):
        text = self.run(name, [self.program("gpu_ranks_bench"), *map(str, words)])
        lines = [line for line in (text or "").splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else None


def gradients(runner, pool):
    cases = [(method, precision, ranks) for method in ("full", "lora") for precision in ("float32", "bf16") for ranks in (0, 2, 4)]

    def one(case):
        method, precision, ranks = case
        name = f"gradient-{method}-{precision}-{ranks}"
        out = runner.results / name
        done = runner.bench(name, "gradient", "--method", method, "--precision", precision, "--ranks", ranks, "--sequences", 2,
                            "--length", 512, "--out", out)
        return out if done else None

    found = dict(zip(cases, pool.map(one, cases)))
    rows = []
    for method in ("full", "lora"):
        for precision, bound in (("float32", 1e-6), ("bf16", 1e-3)):
            wanted = found[method, precision, 0]
            for ranks in (2, 4):
                got = found[method, precision, ranks]
                name = f"gradient, {method}, {precision}, {ranks} ranks against none: relative error"
                both = ["compare", "--out", got, "--against", wanted]
                done = got and wanted and runner.bench(f"compare-{method}-{precision}-{ranks}", *both)
                rows.append((name, done["error"] if done else None, bound,
                             f"{done['elements']} elements, largest difference {done['worst']:.1e} of the largest" if done else ""))
    return rows


def losses_of(folder):
    losses = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if "sft/loss" in entry:
            losses.append(entry["sft/loss"])
    return losses


def losses(runner, pool):
    program = runner.program("kernelwright")
    rows = []
    base = runner.results / "loss-full-1"
    for method in ("full", "lora"):
        start = ["--model", "tiny-6m"] if method == "full" else ["--model", str(base / "agents"), "--method", "lora"]
        if method == "full":  # both read one vocabulary
            runner.run("vocabulary", [program, "train", "sft", str(base), *start, *SFT, "--show", "1"])

        def one(ranks, method=method, start=start):
            folder = runner.results / f"loss-{method}-{ranks}"
            if method == "full" and ranks > 1:
                folder.mkdir(parents=True, exist_ok=True)
                vocabulary = base / "tokenizer.json"
                if vocabulary.exists():
                    (folder / "tokenizer.json").write_bytes(vocabulary.read_bytes())
            done = runner.run(f"loss-{method}-{ranks}", [program, "train", "sft", str(folder), *start, *SFT, "--ranks", str(ranks)])
            return losses_of(folder) if done is not None else None

        found = list(pool.map(one, (1, 2)))
        name = f"SFT, {method}, 50 steps: loss of 2 ranks against 1, largest relative difference"
        if any(each is None or len(each) < 50 for each in found):
            rows.append((name, None, 0.01, ""))
        else:
            rows.append((name, max(abs(second / first - 1) for first, second in zip(*found)), 0.01,
                         f"from {found[0][0]:.3f} to {found[0][-1]:.4f} and {found[1][-1]:.4f}"))
    return rows


def costs(runner):
    rows = []
    for model, method in (("small-30m", "full"), ("smollm2-135m", "full"), ("smollm2-135m", "lora")):
        done = runner.bench(f"cost-{model}-{method}", "cost", "--model", model, "--method", method, "--steps", 20)
        name = f"step of {model}, {method}: one NCCL rank against none, slower by"
        rows.append((name, done and done["ratio_of_pairs"] - 1, 0.03,
                     done and f"{done['with_ms']:.2f} and {done['without_ms']:.2f} ms, {done['tokens']} tokens"))
    runner.environment["KERNELWRIGHT_NCCL_BLOCKING"] = "1"
    done = runner.bench("cost-blocking", "cost", "--model", "small-30m", "--steps", 20)
    del runner.environment["KERNELWRIGHT_NCCL_BLOCKING"]
    rows.append(("the same of small-30m, full, with NCCL's calls blocking, to compare", done and done["ratio_of_pairs"] - 1, None,
                 done and f"{done['with_ms']:.2f} and {done['without_ms']:.2f} ms"))
    return rows


def overlaps(runner):
    rows = []
    for method in ("full", "lora"):
        done = runner.bench(f"overlap-{method}", "overlap", "--model", "smollm2-135m", "--method", method, "--ranks", 2, "--sequences", 16,
                            "--length", 2048)
        sent = re.findall(r"bucket (\d+): ([\d.]+) MB, sent ([\d.-]+) ms, summed ([\d.-]+) ms", done["report"] if done else "")
        ended = re.search(r"backward pass ended ([\d.]+) ms", done["report"] if done else "")
        name = f"2 ranks, {method}: buckets sent before the backward pass ended, share"
        if not sent or not ended:
            rows.append((name, None, None, ""))
            continue
        end = float(ended[1])
        early = sum(float(each[2]) < end for each in sent)
        within = sum(float(each[3]) <= end for each in sent)
        travel = sum(float(each[3]) - float(each[2]) for each in sent)
        hidden = sum(max(0.0, min(float(each[3]), end) - float(each[2])) for each in sent)
        rows.append((name, early / len(sent), None,
                     f"{early} of {len(sent)}, {within} summed by then; {hidden:.1f} of {travel:.1f} ms of exchange within "
                     f"the pass's {end:.1f} ms"))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--only", default="gradient,loss,cost,overlap")
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    runner = Runner(arguments.results.resolve(), arguments.build.resolve(), arguments.seconds)
    wanted = arguments.only.split(",")
    rows = []
    # What is only right or wrong may run at the same time; what is timed is alone.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        if "gradient" in wanted:
            rows += gradients(runner, pool)
        if "loss" in wanted:
            rows += losses(runner, pool)
    if "cost" in wanted:
        rows += costs(runner)
    if "overlap" in wanted:
        rows += overlaps(runner)
    missed = 0
    lines = ["| what | measured | bound | |", "| --- | ---: | ---: | --- |"]
    for name, value, bound, more in rows:
        bad = value is None or (bound is not None and not value <= bound)
        missed += bad
        shown = "nothing" if value is None else f"{value:.2e}" if bound is not None and bound < 0.005 else f"{100 * value:.2f} %"
        limit = "" if bound is None else f"{bound:.0e}" if bound < 0.005 else f"{100 * bound:.0f} %"
        lines.append(f"| {name} | {shown} | {limit} | {more or ''}{' MISSED' if bad else ''} |")
    (runner.results / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
