#!/usr/bin/env python3
"""kill -9 at random points of short training runs: who is started again ends with the bits of a run that nothing happened to.

    scripts/killed_runs.py                       20 runs killed once, one killed 20 times, 5 supervised ones; 5 + 5 interrupted
    scripts/killed_runs.py --points 3 --chain 4 --sft 1 --seed 7
"""
import signal
import sys

sys.dont_write_bytecode = True  # beside the scripts
from short_run import Comparison, Run, command_line, numbers, work_folder


class KilledRuns(Comparison):
    def __init__(self, work, kind):
        super().__init__(Run(work / f"{kind}-undisturbed", kind), f"train {kind}, undisturbed")
        self.work, self.kind = work, kind

    def fresh(self, name):
        return Run(self.work / name, self.kind, secret=self.expected.cache / "secret")

    def stop_each(self, points, random, how=signal.SIGKILL):
        """One point in each part of the run, so that they cover all of it."""
        for number in range(points):
            seconds = self.seconds * (number + random.random()) / points
            while True:
                run = self.fresh(f"{self.kind}-{how.name}-{number}")
                if run.stop_after(seconds, how):
                    break
                run.remove()  # it was faster than the undisturbed one
                seconds *= random.random()
            self.end(run, f"{number + 1:2}. {how.name} at {seconds:5.2f} s, {run.whereabouts()}")

    def chain(self, kills, random):
        """One run that is killed again and again. Some lives are too short to start, others long enough for a step."""
        longest = 0.5 * self.seconds
        places = []
        while len(places) < kills:
            run = self.fresh(f"{self.kind}-chain")
            places = []
            while len(places) < kills and run.stop_after(random.uniform(0.02 * self.seconds, longest)):
                places.append(run.whereabouts())
            if len(places) < kills:  # it was ready before the last kill
                run.remove()
                longest *= 0.8
        for number, place in enumerate(places):
            print(f"  life {number + 1:2} ended by kill -9, {place}")
        self.end(run, f"one run, killed {len(places)} times")


def main():
    parser = command_line(__doc__, seed=20261116)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--chain", type=int, default=20)
    parser.add_argument("--sft", type=int, default=5, help="points of a supervised run")
    parser.add_argument("--interrupts", type=int, default=5, help="points at which it is asked to stop (SIGINT) instead")
    arguments = parser.parse_args()
    random = numbers(arguments.seed)
    failures = 0
    with work_folder(arguments) as work:
        if arguments.points or arguments.chain:
            reinforced = KilledRuns(work, "rl")
            reinforced.stop_each(arguments.points, random)
            reinforced.stop_each(arguments.interrupts, random, signal.SIGINT)
            if arguments.chain:
                reinforced.chain(arguments.chain, random)
            failures += reinforced.failures
        if arguments.sft:
            supervised = KilledRuns(work, "sft")
            supervised.stop_each(arguments.sft, random)
            supervised.stop_each(arguments.interrupts, random, signal.SIGINT)
            failures += supervised.failures
    print("every run ended with the bits of the undisturbed one" if failures == 0 else f"{failures} runs ended otherwise")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
