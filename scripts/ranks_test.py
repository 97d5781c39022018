#!/usr/bin/env python3
"""Training by several ranks with the real program: any number of them, however they are started and whatever kills them, ends with
the bits of one rank: agents, metrics, conversations, exams.

    scripts/ranks_test.py                         sft and rl with 1, 2 and 4 ranks, torchrun, mpirun, 3 + 3 kills
    scripts/ranks_test.py --kinds sft --sizes 2 --kills 0 --launchers "" --least
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # beside the scripts
import short_run
from short_run import Comparison, Run, command_line, numbers, processes_of_session, work_folder

# Longer than any step here: a rank that is missed has been killed, not slow.
DEADLINE_S = "300"


def ranks_of(session):
    """Process ids of the ranks below a launcher, by rank."""
    found = {}
    for pid in processes_of_session(session):
        try:
            environment = dict(part.split("=", 1) for part in pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
                               if "=" in part)
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        # Workers inherit the variables; a rank is what runs `train`.
        if "RANK" in environment and b"train" in command[:3]:
            found[int(environment["RANK"])] = pid
    return found


class LaunchedRun(Run):
    """A run that a launcher starts: `prefix` comes before the program."""

    def __init__(self, place, kind, options=(), secret=None, prefix=(), variables=()):
        super().__init__(place, kind, options, secret)
        self.prefix = [str(part) for part in prefix]
        self.variables = dict(variables)

    def start(self):
        environment = dict(os.environ, KERNELWRIGHT_CACHE=str(self.cache), KERNELWRIGHT_RANKS_DEADLINE_S=DEADLINE_S, **self.variables)
        self.log = open(self.cache / "output", "ab")
        self.log_start = self.log.tell()
        command = self.prefix + [str(short_run.PROGRAM), "train", self.kind, str(self.folder)] + short_run.COMMANDS[self.kind] + self.options
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, env=environment,
                                start_new_session=True)

    def kill_a_rank(self, seconds, rank):
        """Whether the rank was there to be killed; and how long the others took to end."""
        process = self.start()
        end = time.monotonic() + seconds
        while process.poll() is None and (time.monotonic() < end or rank not in ranks_of(process.pid)):
            time.sleep(0.02)
        victim = ranks_of(process.pid).get(rank)
        if process.poll() is not None or victim is None:
            self.finish(process)
            return None
        os.kill(victim, signal.SIGKILL)
        begun = time.monotonic()
        code = self.finish(process)
        took = time.monotonic() - begun
        if code == 0:
            return None  # it was ready
        for _ in range(600):
            if not processes_of_session(process.pid):
                return took
            time.sleep(0.1)
        raise AssertionError(f"processes {processes_of_session(process.pid)} outlive the run")


class RanksComparison(Comparison):
    def __init__(self, work, kind):
        super().__init__(LaunchedRun(work / f"{kind}-1", kind, ["--ranks", "1"]), f"train {kind} --ranks 1")
        self.work, self.kind = work, kind

    def fresh(self, name, options=(), **more):
        return LaunchedRun(self.work / f"{self.kind}-{name}", self.kind, options, secret=self.expected.cache / "secret", **more)

    def kill(self, number, random):
        size = random.choice([2, 3, 4])
        rank = random.randrange(size)
        seconds = self.seconds * random.random()
        while True:
            run = self.fresh(f"kill-{number}", ["--ranks", str(size)])
            took = run.kill_a_rank(seconds, rank)
            if took is not None:
                break
            run.remove()
            seconds *= random.random()
        named = f"rank {rank} " in run.output
        again = random.choice([1, 2, 4])
        run.options = ["--ranks", str(again)]
        print(f"  kill -9 of rank {rank} of {size} at {seconds:.2f} s, {run.whereabouts()}: the others ended after {took:.1f} s, "
              f"{'naming it' if named else 'WITHOUT NAMING IT: ' + run.output[-1500:]}", flush=True)
        self.failures += not named
        self.end(run, f"gone on with by {again}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def torch_python():
    """A Python that has torchrun; none: it cannot be installed here."""
    found = subprocess.run([short_run.ROOT / "scripts" / "torch_env.sh"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def launched(comparison, launcher):
    if launcher == "torchrun" and (python := torch_python()):
        prefix = [python, "-m", "torch.distributed.run", "--no-python", "--nproc-per-node", "2", "--master-addr", "127.0.0.1",
                  "--master-port", free_port()]
    elif launcher == "mpirun" and shutil.which("mpirun"):
        prefix = ["mpirun", "-n", "2", "--oversubscribe", "--allow-run-as-root"]
    else:
        print(f"  {launcher} is not installed: skipped", flush=True)
        return
    comparison.end(comparison.fresh(launcher, prefix=prefix), f"2 ranks under {launcher}")


def main():
    parser = command_line(__doc__, seed=20261118)
    parser.add_argument("--kinds", default="sft,rl")
    parser.add_argument("--sizes", default="2,4")
    parser.add_argument("--launchers", default="torchrun,mpirun")
    parser.add_argument("--kills", type=int, default=3, help="of each kind")
    parser.add_argument("--least", action="store_true", help="runs of two small steps")
    arguments = parser.parse_args()
    if arguments.least:
        short_run.shorten()
    random = numbers(arguments.seed)
    failures = 0
    with work_folder(arguments) as work:
        for kind in arguments.kinds.split(","):
            comparison = RanksComparison(work, kind)
            for size in filter(None, arguments.sizes.split(",")):
                comparison.end(comparison.fresh(f"ranks-{size}", ["--ranks", size]), f"--ranks {size}")
            for launcher in filter(None, arguments.launchers.split(",")):
                launched(comparison, launcher)
            for number in range(arguments.kills):
                comparison.kill(number, random)
            failures += comparison.failures
    print("every run ended with the bits of one rank" if failures == 0 else f"{failures} runs ended otherwise")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
