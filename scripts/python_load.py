#!/usr/bin/env python3
"""How the Python client stands beside `judge --batch`, and what it does when the service is killed under it.

  scripts/python_load.py [--kernels 10000] [--in-flight 64] [--rounds 10] [--kills 10] [--batch-share 0.5] [--least 0.9]

Kernels that nobody has judged yet, every third of them wrong, of a task with small sizes, because a service that was killed makes its
references again; in rounds: some by `judge --batch`, then more through the client, whose
child is killed (SIGKILL) at random moments. Every request must be answered once, with the verdict of its own kernel; in the median of the
rounds the client must reach --least of the batch's rate, or this fails. The rates are compared within this run, so it needs a machine with
nothing else to do; bench/results/python.md has the output. Needs httpx (scripts/world_env.sh python prints an interpreter that has it)."""

import argparse
import collections
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import kernelwright as kw  # noqa: E402

# Quickly judged, so that what the client costs shows.
TASK = """name: small_relu
pytorch: |
  def reference(x):
      return torch.relu(x)
inputs:
  x: {dtype: float32, shape: [n]}
outputs:
  y: {dtype: float32, shape: [n]}
sizes:
  small: [{n: 7}, {n: 3001}]
  train: [{n: 100000}]
"""
GOOD = (ROOT / "tasks" / "relu" / "naive.cu").read_text()
WRONG = GOOD.replace("fmaxf(", "fminf(")
assert WRONG != GOOD


def kernels_of(count, first):
    """A constant of their own makes them new to every cache."""
    mark = time.time_ns()
    return [(GOOD if i % 3 else WRONG) + f"\n__device__ int unused_{mark}_{i} = {i};\n" for i in range(first, first + count)]


def is_right(number, verdict):
    return verdict["correct"] == bool(number % 3)


def by_batch(program, kernels, workers):
    with tempfile.TemporaryDirectory() as folder:
        jobs, out, task = (pathlib.Path(folder) / name for name in ("jobs.jsonl", "out.jsonl", "small_relu.yaml"))
        task.write_text(TASK)
        jobs.write_text("".join(json.dumps({"id": str(i), "task": str(task), "kernel": k}) + "\n" for i, k in enumerate(kernels)))
        started = time.monotonic()
        subprocess.run([program, "judge", "--batch", jobs, "--out", out, "--workers", str(workers)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - started
        verdicts = [json.loads(line) for line in out.read_text().splitlines()]
        assert len(verdicts) == len(kernels) and all(is_right(int(v["id"]), v) for v in verdicts)
        return seconds


class Killer(threading.Thread):
    """Kills the child after each of some shares of the kernels, chosen at random."""

    def __init__(self, service, moments):
        super().__init__(daemon=True)
        self.service, self.moments, self.killed, self.answered = service, sorted(moments), [], 0

    def run(self):
        for moment in self.moments:
            while self.answered < moment:
                time.sleep(0.01)
            time.sleep(random.uniform(0, 0.5))
            while (pid := self.service.child_pid) in (None, *self.killed):
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
            self.killed.append(pid)


def through_client(judge, kernels, first, in_flight, killer, seen):
    started = time.monotonic()
    for verdict in judge.judge_many(((TASK, k) for k in kernels), in_flight=in_flight, ordered=False):
        number = first + int(verdict.id)
        assert number not in seen, f"{number} was answered twice"
        assert is_right(number, verdict), f"{number}: {verdict}"
        seen[number] = verdict.status
        killer.answered = len(seen)
    return time.monotonic() - started


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--kernels", type=int, default=10000)
    options.add_argument("--in-flight", type=int, default=64)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--kills", type=int, default=10)
    options.add_argument("--batch-share", type=float, default=0.5, help="kernels that `judge --batch` gets, of those that the client gets")
    options.add_argument("--workers", type=int, default=os.cpu_count())
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--least", type=float, default=0.9, help="of the batch's rate; 0 on a machine that has other work")
    asked = options.parse_args()
    if asked.kernels < 10 * asked.rounds or asked.rounds < 1 or not 0 <= asked.kills <= asked.kernels // 10:
        options.error("at least 10 kernels a round, and 10 for each kill")
    random.seed(asked.seed)
    program, each = kw.find_program(), asked.kernels // asked.rounds
    with kw.Service(workers=asked.workers) as service:
        judge = kw.Judge(service)
        assert judge.judge(TASK, GOOD).correct  # the task's references are made once
        killer = Killer(service, random.sample(range(each * asked.rounds // 50, each * asked.rounds * 9 // 10), asked.kills))
        killer.start()
        # The client's service runs already: what starting `judge --batch` takes is not counted against it.
        start_s = min(by_batch(program, kernels_of(3, 0), asked.workers) for _ in range(3))
        seen, ratios, batch_rates, client_rates = {}, [], [], []
        for i in range(asked.rounds):
            kernels = kernels_of(each, i * each)
            few = kernels_of(max(6, int(each * asked.batch_share)), 0)
            batch_rates.append((len(few) - 3) / max(by_batch(program, few, asked.workers) - start_s, 1e-3))
            client_rates.append(each / through_client(judge, kernels, i * each, asked.in_flight, killer, seen))
            ratios.append(client_rates[-1] / batch_rates[-1])
            print(f"round {i + 1}: batch {batch_rates[-1]:.2f} kernels/s, client {client_rates[-1]:.2f} kernels/s, "
                  f"{100 * ratios[-1]:.0f} %; {len(seen)} answered, {len(killer.killed)} kills, {service.restarts} restarts", flush=True)
        killer.join(600)
        assert judge.judge(TASK, GOOD).correct
        print(f"{len(seen)} of {each * asked.rounds} requests answered, none twice, each with its own verdict; "
              f"{asked.in_flight} in flight; {len(killer.killed)} kills, {service.restarts} restarts")
        print("verdicts:", dict(collections.Counter(seen.values())))
        median = statistics.median(ratios)
        print(f"client / batch, median of {asked.rounds} rounds: {100 * median:.0f} % (at least {100 * asked.least:.0f} % is wanted)")
        if len(seen) != each * asked.rounds or not service.restarts == len(killer.killed) == asked.kills:
            sys.exit("a request was not answered, or a kill was not survived")
        if median < asked.least:
            sys.exit("the client is too slow")


if __name__ == "__main__":
    main()
