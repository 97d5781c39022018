#!/usr/bin/env python3
"""A pool of judges: four real services on Unix sockets, one worker each. The same verdicts as a judge of one's own; services killed with
kill -9 every few seconds and started again, and no verdict is lost or given twice; another secret, another profile and a wrong key are
refused before the first kernel; training and an exam judge there, too. Standard library alone.
  tests/world/judge_services.py [--kernels 200] [--kill-every 3]"""

import argparse
import collections
import json
import os
import pathlib
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

    def __init__(self, folder, name, secret, *more):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir(exist_ok=True)
        self.socket = str(pathlib.Path(folder) / f"{name}.sock")
        self.command = [PROGRAM, "serve", "--no-agents", "--socket", self.socket, "--judge-workers", "1", "--backend", "emulator",
                        "--judge-secret-file", secret, "--quiet", "--runs", str(self.folder), *more]
        self.start()

    def start(self):
        environment = dict(os.environ, KERNELWRIGHT_CACHE=str(self.folder / "cache"))
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=log, env=environment)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def address(self):
        return "unix:" + self.socket


def kernels_for(count):
    """Right, wrong and broken ones, each with a text of its own."""
    jobs = []
    for i in range(count):
        task = SMALL[i % len(SMALL)]
        text = (ROOT / "tasks" / task / "naive.cu").read_text()
        if i % 5 == 3:
            text = text.replace("threadIdx.x", "(threadIdx.x + 1)", 1)
        if i % 5 == 4:
            text = text.replace(";", "", 1)
        jobs.append({"id": f"k{i}", "task": task, "kernel": f"// number {i}\n{text}"})
    return jobs


def batch(folder, jobs, name, *more, fails=False, environment=None):
    jobs_file, out = pathlib.Path(folder) / "jobs.jsonl", pathlib.Path(folder) / f"{name}.jsonl"
    jobs_file.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    done = subprocess.run([PROGRAM, "judge", "--batch", str(jobs_file), "--out", str(out), "--json", *more], capture_output=True,
                          text=True, timeout=3600, env=dict(os.environ, **(environment or {})))
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
    different = [name for name, verdict in own.items() if theirs[name] != verdict]
    check(("the same verdicts", different[:3]), not different)


def kill_now_and_then(services, every_s, over):
    turn = 0
    while not over.wait(every_s):
        service = services[turn % len(services)]
        service.kill()
        service.start()
        turn += 1
    return turn


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--kill-every", type=float, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        secret = str(pathlib.Path(folder) / "secret")
        pathlib.Path(secret).write_text("this secret is for a test and nobody else 0123456789\n")
        os.chmod(secret, 0o600)
        jobs = kernels_for(arguments.kernels)
        cache = {"KERNELWRIGHT_CACHE": str(pathlib.Path(folder) / "own-cache")}
        _, verdicts = batch(folder, jobs, "own", "--backend", "emulator", "--judge-secret-file", secret, environment=cache)
        own = {verdict["id"]: settled(verdict) for verdict in verdicts}
        statuses = collections.Counter(verdict["status"] for verdict in verdicts)
        check(("there is something to compare", statuses), statuses["correct"] > 0 and len(statuses) > 1)
        services = [JudgeService(folder, f"s{i}", secret) for i in range(4)]
        try:
            where = ",".join(service.address for service in services)
            summary, verdicts = batch(folder, jobs, "pool", "--judge-on", where, "--judge-secret-file", secret, environment=cache)
            compare(verdicts, own, jobs)
            shares = [each["answered"] for each in summary["services"]]
            check(("everybody has worked", shares), min(shares) > 0 and sum(shares) == len(jobs))

            over, killed = threading.Event(), []
            killer = threading.Thread(target=lambda: killed.append(kill_now_and_then(services, arguments.kill_every, over)))
            killer.start()
            fresh = [{**job, "kernel": "// again\n" + job["kernel"]} for job in jobs]  # no cache knows them
            _, first = batch(folder, fresh, "own-again", "--backend", "emulator", "--judge-secret-file", secret, environment=cache)
            again = {verdict["id"]: settled(verdict) for verdict in first}
            summary, verdicts = batch(folder, fresh, "killed", "--judge-on", where, "--judge-secret-file", secret, environment=cache)
            over.set()
            killer.join()
            compare(verdicts, again, fresh)
            check(("services were killed meanwhile", killed), killed[0] >= 1)
            print(f"{killed[0]} times killed, {sum(each['failed'] for each in summary['services'])} times noticed")

            other = str(pathlib.Path(folder) / "other")
            pathlib.Path(other).write_text("another secret that is long enough to be one\n")
            os.chmod(other, 0o600)
            said = batch(folder, jobs[:1], "x", "--judge-on", where, "--judge-secret-file", other, fails=True)
            check(said, "another secret" in said and "0123456789" not in said)
            said = batch(folder, jobs[:1], "x", "--judge-on", where, "--judge-secret-file", secret, "--profile", "a100", fails=True)
            check(said, "not the profile" in said)
            strange = JudgeService(folder, "strange", secret, "--profile", "a100")
            services.append(strange)
            said = batch(folder, jobs[:1], "x", "--judge-on", where + "," + strange.address, "--judge-secret-file", secret, fails=True)
            check(said, "is not like" in said)
            run = subprocess.run([PROGRAM, "evaluate", "tiny", "--tasks", "4", "--exam", "generator", "--split", "composition",
                                  "--judge-on", where, "--judge-secret-file", secret, "--json"], capture_output=True, text=True,
                                 timeout=3600, env=dict(os.environ, **cache))
            check(run.stderr, run.returncode == 0 and json.loads(run.stdout))
            run = subprocess.run([PROGRAM, "train", "rl", str(pathlib.Path(folder) / "run"), "--model", "tiny", "--device", "cpu",
                                  "--steps", "1", "--tasks", "2", "--group", "2", "--exam", "0", "--judge-on", where,
                                  "--judge-secret-file", secret], capture_output=True, text=True, timeout=3600,
                                 env=dict(os.environ, **cache))
            check(run.stderr[-2000:], run.returncode == 0)
        finally:
            for service in services:
                service.kill()
    print(f"{passed} checks passed")


if __name__ == "__main__":
    sys.exit(main())
