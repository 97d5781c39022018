#!/usr/bin/env python3
"""A pool of judges: real services on Unix sockets, one worker each. The same verdicts as a judge of one's own, also while services are
killed with kill -9 and started again: none is lost or given twice. Another secret, another profile and services that are not alike are
refused before the first kernel; training and an exam judge there, too. Standard library alone.
  tests/world/judge_services.py [--kernels 80] [--services 4] [--kills 6] [--verdicts-only]"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from service_under_test import PROGRAM, ROOT

passed = 0
SMALL = ("relu", "add", "row_sum", "softmax")


def check(what, true):
    global passed
    assert true, what
    passed += 1


class JudgeService:
    """One `kernelwright serve --no-agents` on a socket, with a cache of its own, as if it were another machine."""

    def __init__(self, folder, name, secret, *more, cores=None):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir(exist_ok=True)
        self.socket = str(pathlib.Path(folder) / f"{name}.sock")
        self.cores = cores  # it and all that it starts runs there alone
        self.command = [PROGRAM, "serve", "--no-agents", "--socket", self.socket, "--judge-workers", "1", "--backend", "emulator",
                        "--judge-secret-file", secret, "--quiet", "--runs", str(self.folder), *more]
        self.start()

    def start(self):
        environment = dict(os.environ, KERNELWRIGHT_CACHE=str(self.folder / "cache"))
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=log, env=environment,
                                            preexec_fn=(lambda: os.sched_setaffinity(0, self.cores)) if self.cores else None)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def address(self):
        return "unix:" + self.socket


def small_tasks(folder):
    """Tasks of the suite with small full sizes. Each service keeps references of its own, and loses them when it is killed: at 67 million
    elements they would be nearly all of the work."""
    def smaller(size):
        name, value = size[1], int(size[2])
        return f"{name}: {5000 + value % 20011 if name == 'n' else 64 + value % 257}"
    for name in SMALL:
        to = pathlib.Path(folder) / "tasks" / name
        to.mkdir(parents=True)
        lines = (ROOT / "tasks" / name / "task.yaml").read_text().splitlines()
        full = ("  train:", "  holdout:")
        to.joinpath("task.yaml").write_text("".join(
            (re.sub(r"(\w+): (\d+)", smaller, line) if line.startswith(full) else line) + "\n" for line in lines))
        shutil.copy(ROOT / "tasks" / name / "naive.cu", to)


def kernels_for(folder, count):
    """Right, wrong and broken ones, each with a text of its own."""
    small_tasks(folder)
    jobs = []
    for i in range(count):
        task = pathlib.Path(folder) / "tasks" / SMALL[i % len(SMALL)]
        text = (task / "naive.cu").read_text()
        if i % 5 == 3:
            text = text.replace("threadIdx.x", "(threadIdx.x + 1)", 1)
        if i % 5 == 4:
            text = text.replace(";", "", 1)
        jobs.append({"id": f"k{i}", "task": str(task), "kernel": f"// number {i}\n{text}"})
    return jobs


def program(*arguments, folder):
    """With a cache of its own: nothing is found, everything is judged."""
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=3600,
                          env=dict(os.environ, KERNELWRIGHT_CACHE=str(pathlib.Path(folder) / "own-cache")))


def batch(folder, jobs, name, *more, fails=False):
    jobs_file, out = pathlib.Path(folder) / f"{name}-jobs.jsonl", pathlib.Path(folder) / f"{name}.jsonl"
    jobs_file.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    done = program("judge", "--batch", str(jobs_file), "--out", str(out), "--json", *more, folder=folder)
    check((more, done.stderr), (done.returncode != 0) == fails)
    if fails:
        return done.stderr
    return json.loads(done.stdout), [json.loads(line) for line in out.read_text().splitlines()]


def settled(verdict):
    """Everything but how long it took, and which machine's work it was."""
    times = ("judge_ms", "compile_ms", "stages_ms", "from_cache", "work")
    return {name: value for name, value in verdict.items() if name not in times}


def compare(verdicts, own, jobs):
    by_id = collections.Counter(verdict["id"] for verdict in verdicts)
    check("none is lost", set(by_id) == {job["id"] for job in jobs})
    check("none is given twice", max(by_id.values()) == 1)
    check("all are judged", all(verdict["status"] != "internal_error" for verdict in verdicts))
    theirs = {verdict["id"]: settled(verdict) for verdict in verdicts}
    different = [(own[name], verdict) for name, verdict in theirs.items() if own[name] != verdict]
    check(("the same verdicts", different[:1]), not different)


class Killer(threading.Thread):
    """Kills services and starts them again while a batch writes its verdicts: one, the next one, ..., each when so many lines are there.
    By what was done, not by the clock: a service that starts costs CPU time, and on a slow machine they would do nothing else."""

    def __init__(self, services, out, at):
        super().__init__(daemon=True)
        self.services, self.out, self.at = services, pathlib.Path(out), at
        self.killed = 0
        self.over = threading.Event()

    def run(self):
        while self.killed < len(self.at) and not self.over.wait(0.02):
            lines = self.out.read_bytes().count(b"\n") if self.out.exists() else 0
            if lines >= self.at[self.killed]:
                service = self.services[self.killed % len(self.services)]
                service.kill()
                service.start()
                self.killed += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        """Nobody is started again from now on."""
        self.over.set()
        self.join()


def spread(kills, jobs):
    """When to kill: after the first verdict, and then at even distances."""
    return [1 + number * jobs // kills for number in range(kills)]


def verdicts_survive_kills(folder, jobs, own, services, secret, kills):
    """First nobody is disturbed, with half of the kernels; then services die, with the other half."""
    where = ",".join(service.address for service in services)
    there = ("--judge-on", where, "--judge-secret-file", secret)
    calm, wild = jobs[: len(jobs) // 2], jobs[len(jobs) // 2:]
    begun = time.monotonic()
    summary, verdicts = batch(folder, calm, "calm", *there)
    compare(verdicts, own, calm)
    shares = [each["answered"] for each in summary["services"]]
    check(("each verdict is somebody's", shares), sum(shares) == len(calm) and max(shares) < len(calm))
    print(f"{len(calm)} kernels by {len(services)} services: {shares}, {time.monotonic() - begun:.1f} s", flush=True)
    begun = time.monotonic()
    with Killer(services, pathlib.Path(folder) / "wild.jsonl", spread(kills, len(wild))) as killer:
        summary, verdicts = batch(folder, wild, "wild", *there)
    compare(verdicts, own, wild)
    check(("services were killed meanwhile", killer.killed), killer.killed >= 1)
    print(f"{len(wild)} kernels: {killer.killed} times kill -9, {sum(each['failed'] for each in summary['services'])} times noticed, "
          f"{time.monotonic() - begun:.1f} s", flush=True)


def strangers_are_refused(folder, jobs, services, secret):
    where = ",".join(service.address for service in services)
    other = str(pathlib.Path(folder) / "other")
    pathlib.Path(other).write_text("another secret that is long enough to be one\n")
    os.chmod(other, 0o600)
    said = batch(folder, jobs[:1], "x", "--judge-on", where, "--judge-secret-file", other, fails=True)
    check(said, "another secret" in said and "0123456789" not in said)
    said = batch(folder, jobs[:1], "x", "--judge-on", where, "--judge-secret-file", secret, "--profile", "a100", fails=True)
    check(said, "not the profile" in said)
    strange = JudgeService(folder, "strange", secret, "--profile", "a100")
    try:
        said = batch(folder, jobs[:1], "x", "--judge-on", where + "," + strange.address, "--judge-secret-file", secret, fails=True)
        check(said, "is not like" in said)
    finally:
        strange.kill()


def training_judges_there(folder, services, secret):
    """An exam and a step of reinforcement learning."""
    begun = time.monotonic()
    there = ["--judge-on", ",".join(service.address for service in services), "--judge-secret-file", secret]
    run = program("evaluate", "tiny", "--tasks", "2", "--exam", "generator", "--split", "composition", "--json", *there, folder=folder)
    check(run.stderr, run.returncode == 0 and json.loads(run.stdout))
    print(f"an exam: {time.monotonic() - begun:.1f} s", flush=True)
    run = program("train", "rl", str(pathlib.Path(folder) / "run"), "--model", "tiny", "--device", "cpu", "--steps", "1", "--tasks", "2",
                  "--group", "2", "--exam", "0", *there, folder=folder)
    check(run.stderr[-2000:], run.returncode == 0)
    print(f"with a step of reinforcement learning: {time.monotonic() - begun:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=80)
    parser.add_argument("--services", type=int, default=4)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--verdicts-only", action="store_true", help="neither strangers nor training")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        secret = str(pathlib.Path(folder) / "secret")
        pathlib.Path(secret).write_text("this secret is for a test and nobody else 0123456789\n")
        os.chmod(secret, 0o600)
        jobs = kernels_for(folder, arguments.kernels)
        _, verdicts = batch(folder, jobs, "own", "--backend", "emulator", "--judge-secret-file", secret)
        own = {verdict["id"]: settled(verdict) for verdict in verdicts}
        statuses = collections.Counter(verdict["status"] for verdict in verdicts)
        check(("there is something to compare", statuses), statuses["correct"] > 0 and len(statuses) > 1)
        services = [JudgeService(folder, f"s{i}", secret) for i in range(arguments.services)]
        try:
            verdicts_survive_kills(folder, jobs, own, services, secret, arguments.kills)
            if not arguments.verdicts_only:
                strangers_are_refused(folder, jobs, services, secret)
                training_judges_there(folder, services, secret)
        finally:
            for service in services:
                service.kill()
    print(f"{passed} checks passed")


if __name__ == "__main__":
    sys.exit(main())
