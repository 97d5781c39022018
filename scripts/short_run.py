"""A short training run of the real program, for scripts that disturb it: commands, kills, and what two runs must have in common; and
the comparison of such runs with one that nothing happened to.

Two runs are the same when these are: every byte of the agents, metrics (metrics.jsonl and runs.db) but times and rates, every
conversation that was kept, every exam.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "kernelwright"

COMMANDS = {
    # Checkpoints, exams and kept conversations at every turn, so that kills meet all of them.
    "rl": ["--model", "tiny", "--steps", "4", "--tasks", "2", "--group", "2", "--turns", "2", "--answer-tokens", "200", "--pool", "60",
           "--exam", "4", "--evaluations", "2", "--checkpoint-every", "1", "--keep-conversations", "1", "--judge-on", "emulator",
           "--device", "cpu", "--threads", "1", "--seed", "3"],
    "sft": ["--model", "tiny-1m", "--vocabulary", "512", "--steps", "12", "--batch", "2048", "--exam", "4", "--optimizer-exam", "0",
            "--evaluations", "2", "--checkpoint-every", "3", "--log-every", "2", "--answer-tokens", "100", "--audit", "0.1",
            "--device", "cpu", "--threads", "1", "--seed", "3"],
}

# The least that still has two steps, a checkpoint between them and, for rl, judged kernels.
LEAST = {"rl": {"--steps": "2", "--turns": "1", "--answer-tokens": "120", "--pool": "20", "--exam": "0", "--evaluations": "0"},
         "sft": {"--steps": "2", "--batch": "1024", "--exam": "0", "--evaluations": "0", "--checkpoint-every": "1", "--log-every": "1",
                 "--audit": "0"}}


def shorten():
    for kind, changes in LEAST.items():
        for option, value in changes.items():
            COMMANDS[kind][COMMANDS[kind].index(option) + 1] = value


def is_timing(metric):
    """As in src/learn/rl/step_metrics.cpp: of the clock, not of the training."""
    return metric.startswith(("timing_s/", "perf/")) or metric in ("judge/cache_hit", "judge/kernels_per_s")


def processes_of_session(session):
    """Living ones; what has ended and was not collected does not count."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


class Run:
    """A run's folder below `place`, with a cache of its own: kernels are really compiled and judged, not found."""

    def __init__(self, place, kind, options=(), secret=None):
        self.place = pathlib.Path(place)
        self.kind = kind
        self.options = list(options)
        self.folder = self.place / "run"
        self.cache = self.place.parent / (self.place.name + "-cache")
        self.cache.mkdir(parents=True, exist_ok=True)
        if secret is not None:  # a machine has one, whatever happens to a run
            shutil.copy(secret, self.cache / "secret")
        self.place.mkdir(parents=True, exist_ok=True)
        self.output = ""

    def start(self):
        environment = dict(os.environ, KERNELWRIGHT_CACHE=str(self.cache))
        self.log = open(self.cache / "output", "ab")
        self.log_start = self.log.tell()
        return subprocess.Popen([PROGRAM, "train", self.kind, str(self.folder)] + COMMANDS[self.kind] + self.options, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)

    def finish(self, process):
        """The exit code; what it said is in `output`."""
        code = process.wait()
        self.log.close()
        self.output = (self.cache / "output").read_bytes()[self.log_start:].decode(errors="replace")
        return code

    def run(self):
        return self.finish(self.start())

    def stop_after(self, seconds, how=signal.SIGKILL):
        """Whether it was in time. Nothing of the run may live on."""
        process = self.start()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(how)
        code = self.finish(process)
        killed = code in (-how, 130)  # before it listens to signals, they end it
        for _ in range(600):
            left = processes_of_session(process.pid)
            if not left:
                return killed
            time.sleep(0.1)
        raise AssertionError(f"processes {left} outlive the run")

    def whereabouts(self):
        """What the run was doing when it was killed, from what it left."""
        if not (self.folder / "config.json").exists():
            return "starting"
        checkpoints = self.folder / "checkpoints"
        if list(checkpoints.glob(".saving-*")) or list(checkpoints.glob(".replaced-*")):
            return "saving a checkpoint"
        if (self.folder / "agents").exists():
            return "writing agents"
        steps = sorted(int(path.name[5:]) for path in checkpoints.glob("step-*"))
        if not steps:
            return "before the first checkpoint"
        if self.kind == "sft":
            return f"after the checkpoint of step {steps[-1]}"
        store = self.folder / "conversations" / f"step-{steps[-1] + 1:08}.db"
        if not store.exists():
            return f"between steps, after checkpoint {steps[-1]}"
        try:
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
                rows = database.execute("SELECT end FROM episodes").fetchall()
                turns = database.execute("SELECT count(*) FROM turns").fetchone()[0]
        except sqlite3.OperationalError:  # its tables are not made yet
            rows, turns = [], 0
        if not rows or any(row[0] == "unfinished" for row in rows):
            return f"conversations of step {steps[-1] + 1}, {turns} turns written"
        logged = (self.folder / "metrics.jsonl").read_text()
        return f"exam after step {steps[-1] + 1}" if f'{{"step":{steps[-1] + 1},' in logged else f"update of step {steps[-1] + 1}"

    def record(self):
        """What must not depend on what happened to the run."""
        return {"agents": self.agents(), "metrics": self.metrics(), "run store": self.stored_metrics(),
                "conversations": self.conversations(), "exams": self.exams()}

    def agents(self):
        return {str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted((self.folder / "agents").rglob("*")) if path.is_file()}

    def metrics(self):
        rows = [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]
        return [{name: value for name, value in row.items() if not is_timing(name)} for row in rows]

    def stored_metrics(self):
        with sqlite3.connect(self.place / "runs.db") as database:
            rows = database.execute("SELECT step, metric_names.name, value FROM metrics JOIN metric_names ON metric = metric_names.id "
                                    "JOIN runs ON run = runs.id WHERE runs.name = 'run' ORDER BY step, metric_names.name").fetchall()
        return [row for row in rows if not is_timing(row[1])]

    def conversations(self):
        kept = {}
        for store in sorted((self.folder / "conversations").glob("*.db")):
            with sqlite3.connect(store) as database:
                episodes = dict(database.execute("SELECT id, identity FROM episodes").fetchall())
                kept[store.name] = sorted(
                    (episodes[row[0]],) + row[1:] for row in database.execute(
                        "SELECT episode, turn, sample, tokens, log_probs, finish, text, outcome, kernel, reward, rewarded, "
                        "json_extract(verdict, '$.status') FROM samples").fetchall())
                kept[store.name].append(sorted(database.execute("SELECT identity, end, best_turn, best_speedup FROM episodes").fetchall(), key=str))
        return kept

    def exams(self):
        def untimed(value):
            if isinstance(value, dict):
                return {name: untimed(part) for name, part in value.items() if "seconds" not in name}
            return [untimed(part) for part in value] if isinstance(value, list) else value
        papers = {}
        for path in sorted((self.folder / "exams").glob("*")):
            text = path.read_text()
            papers[path.name] = untimed(json.loads(text)) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
        return papers

    def remove(self):
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.rmtree(self.cache, ignore_errors=True)


def differences(expected, found):
    """Names of the parts that differ, with the first difference of each."""
    different = []
    for part, value in expected.items():
        if found[part] == value:
            continue
        where = ""
        if isinstance(value, dict):
            where = next((str(name) for name in sorted(set(value) | set(found[part])) if value.get(name) != found[part].get(name)), "")
        elif len(value) != len(found[part]):
            where = f"{len(found[part])} rows instead of {len(value)}"
        else:
            where = next(f"{one} | {other}" for one, other in zip(value, found[part]) if one != other)[:600]
        different.append(f"{part}: {where}")
    return different


def numbers(seed):
    return random.Random(seed)


class Comparison:
    """Runs that something happens to, with one that nothing happens to: `expected`, which is run here."""

    def __init__(self, expected, name):
        self.expected, self.failures = expected, 0
        start = time.monotonic()
        if expected.run() != 0:
            sys.exit(f"{name} failed:\n{expected.output}")
        self.seconds = time.monotonic() - start
        self.record = expected.record()
        print(f"{name}: {self.seconds:.1f} s; {len(self.record['agents'])} files of agents, "
              f"{len(self.record['metrics'])} lines of metrics, {len(self.record['conversations'])} stores of conversations, "
              f"{len(self.record['exams'])} exams", flush=True)

    def end(self, run, what):
        """Runs it to its end, and compares everything that it leaves."""
        start = time.monotonic()
        code = run.run()
        seconds = time.monotonic() - start
        different = differences(self.record, run.record()) if code == 0 else [f"exit code {code}: {run.output[-2000:]}"]
        print(f"  {what}: {'the same bits' if not different else 'DIFFERENT'}, {seconds:.1f} s", flush=True)
        for line in different:
            print(f"    {line}", flush=True)
        self.failures += bool(different)
        if not different:
            run.remove()


def command_line(page, seed):
    """A parser with what every such script can be told."""
    parser = argparse.ArgumentParser(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--work", type=pathlib.Path, help="kept; else a temporary folder")
    return parser


@contextlib.contextmanager
def work_folder(arguments):
    """Where the runs of this command line are; they are of its program."""
    global PROGRAM
    PROGRAM = arguments.program
    with tempfile.TemporaryDirectory(prefix="kernelwright-runs-") as temporary:
        yield arguments.work or pathlib.Path(temporary)
