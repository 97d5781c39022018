#!/usr/bin/env python3
"""Is a search better than sampling? On held-out tasks, with the same number of verdicts for both: `samples` takes the best of so many
different kernels of the Generator, `search` has all operators. `unfiltered` is the search with every right kernel measured, to see what
the filter saves on a GPU; `constants` lacks the Optimizer.

    scripts/search_against_samples.py OUT [--verdicts 64] [--minutes 9] [--tasks softplus geglu ...] [--arms samples search]

Tasks: the suite's held-out ones, so many of the grammar's with --composition, or those that are named (suite, folder, YAML file). What an arm found
stands in OUT/TASK.ARM.json; the same command skips what is there, so that a long comparison may be done in several calls of bounded time.
A run that is cut off by --minutes leaves its store and goes on next time. Ends with a table: for each arm against the first one, tasks
won and lost, the geometric mean of the ratio of best times where both have a right kernel, and p values of the sign test and of
Wilcoxon's signed ranks, where a task that only one of them solves is the largest difference of all.
"""
import argparse
import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("KERNELWRIGHT_PROGRAM", str(ROOT / "build" / "kernelwright"))
ARMS = {
    "samples": ["--operators", "generator", "--looks", "0"],
    "search": [],
    "blind": ["--looks", "0"],
    "looked": ["--operators", "generator"],
    "constants": ["--operators", "generator,constants"],
    "unfiltered": ["--filter", "0"],
}
# A smaller difference of modelled times is none. Measured ones are equal where their intervals meet.
EQUAL = 0.002


def suite_tasks():
    done = subprocess.run([PROGRAM, "tasks", "list", "--json"], capture_output=True, text=True, check=True)
    return [task["name"] for task in json.loads(done.stdout) if task["split"] == "holdout"]


def composition_tasks(options):
    """Of the grammar's split that training never draws, one for each structure, as files."""
    done = subprocess.run([PROGRAM, "data", "show", "--split", "composition", "--count", str(20 * options.composition), "--seed",
                           str(options.seed + 1000), "--json"], capture_output=True, text=True, check=True)
    folder, structures, files = options.out / "tasks", set(), []
    folder.mkdir(exist_ok=True)
    for example in json.loads(done.stdout):
        if example["structure"] in structures or len(files) == options.composition:
            continue
        structures.add(example["structure"])
        files.append(folder / f"composition_{example['index']}.yaml")
        files[-1].write_text(json.dumps(example["task"], indent=1))
    return [str(file) for file in files]


def name_of(task):
    return pathlib.Path(task).stem


def run_arm(options, task, arm, minutes):
    """The parsed result, or None when the time was over before it had ended."""
    out = options.out / f"{name_of(task)}.{arm}.json"
    if out.exists():
        return json.loads(out.read_text())
    command = [PROGRAM, "optimize", task, "--verdicts", options.verdicts, "--patience", 0, "--close-enough", -100, "--seed", options.seed, "--model", options.model,
               "--backend", options.backend, "--device", options.device, "--minutes", f"{minutes:.3f}", "--json", "--store",
               options.out / f"{name_of(task)}.{arm}.db", *ARMS[arm], *options.extra]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        result = {"error": {"message": f"it ended with {done.returncode} and said nothing: {done.stderr[-300:]}"}}
    if "error" not in result and result["end"] in ("time", "unfinished"):
        return None
    out.write_text(json.dumps(result))
    return result


def best_us(result):
    return result["best"]["time_us"] if result and result.get("best") else None


def by_constants(result):
    """How much faster the best kernel is than the kernel that an agent wrote and whose constants were changed."""
    if not best_us(result):
        return None
    candidate = result["candidates"][result["best"]["candidate"]]
    best = candidate["time_us"]
    while candidate["from"] == "constants":
        candidate = result["candidates"][candidate["parent"]]
    return candidate["time_us"] / best if candidate["time_us"] else None


def sign_p(wins, losses):
    n, least = wins + losses, min(wins, losses)
    if n == 0:
        return 1.0
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(least + 1)) / 2**n)


def wilcoxon_p(differences):
    """Two-sided and exact: the chance of a sum of ranks at least as far from the middle, over all signs. Zeros are left out."""
    sizes = sorted((abs(d), d > 0) for d in differences if d != 0)
    doubled, plus = [], 0  # twice the ranks: equal sizes share theirs
    for _, group in itertools.groupby(sizes, key=lambda each: each[0]):
        group = list(group)
        rank = 2 * len(doubled) + len(group) + 1
        plus += rank * sum(positive for _, positive in group)
        doubled += [rank] * len(group)
    if not doubled:
        return 1.0
    ways = [1]
    for rank in doubled:
        longer = ways + [0] * rank
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    middle = sum(doubled) / 2
    far = sum(count for total, count in enumerate(ways) if abs(total - middle) >= abs(plus - middle) - 1e-9)
    return far / sum(ways)


def compared(first, other):
    """log(first / other) of the best times; infinite where only one has a right kernel, 0 where nobody can tell them apart."""
    a, b = best_us(first), best_us(other)
    if a is None and b is None:
        return None
    if a is None or b is None:
        return math.inf if a is None else -math.inf
    (low_a, high_a), (low_b, high_b) = first["best"]["interval_us"], other["best"]["interval_us"]
    if abs(math.log(a / b)) < EQUAL or max(low_a, low_b) < min(high_a, high_b):
        return 0.0
    return math.log(a / b)


def geometric_mean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def text(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def print_tables(options, tasks, results):
    first, *others = options.arms
    heads = "".join(f"{arm + ' us':>14}{'judged':>7}{'meas.':>6}" for arm in options.arms)
    print(f"\n{'task':28}{heads}{'ratio':>8}{'by const.':>10}")
    whole = [task for task in tasks if all(results.get((task, arm)) for arm in options.arms)]
    for task in whole:
        row = [results[task, arm] for arm in options.arms]
        if any("error" in result for result in row):
            print(f"{name_of(task):28}  " + "; ".join(result["error"]["message"][:100] for result in row if "error" in result))
            continue
        difference = compared(row[0], row[-1])
        ratio = None if difference is None or math.isinf(difference) else math.exp(difference)
        print(f"{name_of(task):28}" + "".join(f"{text(best_us(r)):>14}{r['verdicts']:>7}{r['measurements']:>6}" for r in row)
              + f"{text(ratio):>8}{text(by_constants(row[-1])):>10}")
    good = [task for task in whole if all("error" not in results[task, arm] for arm in options.arms)]
    missing = len(tasks) - len(good)
    print(f"\n{len(good)} tasks, {options.verdicts} verdicts each, seed {options.seed}, {options.model}"
          + (f"; {missing} are missing: run the same command again" if missing else ""))
    print(f"{'arm':12}{'solved':>7}{'measured':>9}{'against':>12}{'won':>5}{'lost':>5}{'equal':>6}{'geo. mean':>10}{'p sign':>10}"
          f"{'p Wilcoxon':>11}")
    for arm in options.arms:
        solved = sum(best_us(results[task, arm]) is not None for task in good)
        measured = sum(results[task, arm]["measurements"] for task in good)
        line = f"{arm:12}{solved:>7}{measured:>9}"
        if arm in others:
            differences = [d for d in (compared(results[task, first], results[task, arm]) for task in good) if d is not None]
            won, lost = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
            mean = geometric_mean([math.exp(d) for d in differences if not math.isinf(d)])
            line += (f"{first:>12}{won:>5}{lost:>5}{len(differences) - won - lost:>6}{mean:>10.3f}{sign_p(won, lost):>10.2g}"
                     f"{wilcoxon_p(differences):>11.2g}")
        print(line)
    gains = [by_constants(results[task, others[-1] if others else first]) for task in good]
    print(f"changed constants: {geometric_mean(gains):.3f} x in geometric mean over the kernels that they were changed in")


def self_test():
    assert abs(sign_p(10, 0) - 2 / 1024) < 1e-12 and sign_p(5, 5) == 1.0 and sign_p(0, 0) == 1.0
    # All of n signs alike: 2 / 2^n, whatever the sizes.
    assert abs(wilcoxon_p([0.1, 0.2, 0.3, 0.4, math.inf, math.inf]) - 2 / 64) < 1e-12
    assert wilcoxon_p([]) == 1.0 and wilcoxon_p([0.0]) == 1.0 and wilcoxon_p([1, -1]) == 1.0
    # Ranks 1 to 5, minus for the smallest: sums of 14 or more in 2 of 32 ways, each side.
    assert abs(wilcoxon_p([-0.1, 0.2, 0.3, 0.4, 0.5]) - 4 / 32) < 1e-12
    candidates = [{"from": "generator", "parent": None, "time_us": 10.0}, {"from": "constants", "parent": 0, "time_us": 8.0},
                  {"from": "constants", "parent": 1, "time_us": 5.0}]
    result = {"best": {"time_us": 5.0, "interval_us": [4.9, 5.1], "candidate": 2}, "candidates": candidates}
    assert by_constants(result) == 2.0 and by_constants({"best": None}) is None
    assert compared({"best": None}, result) == math.inf and compared(result, result) == 0.0
    assert compared({"best": {"time_us": 5.15, "interval_us": [5.05, 5.2]}}, result) == 0.0
    assert compared({"best": {"time_us": 5.5, "interval_us": [5.4, 5.6]}}, result) > 0
    print("the statistics are right")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, nargs="?", help="folder for results; what is there is not done again")
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--composition", type=int, default=0, metavar="N", help="N tasks of the grammar instead of the suite's")
    parser.add_argument("--most-tasks", type=int, default=1000)
    parser.add_argument("--arms", nargs="+", default=["samples", "search"], choices=ARMS)
    parser.add_argument("--verdicts", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=9, help="all in all")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 5), help="searches at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--extra", nargs=argparse.REMAINDER, default=[], help="further options of `kernelwright optimize`")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if options.out is None:
        parser.error("OUT is missing")
    options.out.mkdir(parents=True, exist_ok=True)
    tasks = (options.tasks or (composition_tasks(options) if options.composition else suite_tasks()))[:options.most_tasks]
    end = time.monotonic() + 60 * options.minutes
    results = {}

    def work(pair):
        left = (end - time.monotonic()) / 60
        known = (options.out / f"{name_of(pair[0])}.{pair[1]}.json").exists()
        return pair, run_arm(options, *pair, left) if left > 0.02 or known else None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done, (pair, result) in enumerate(pool.map(work, itertools.product(tasks, options.arms)), 1):
            results[pair] = result
            said = "not done" if result is None else result.get("error", {}).get("message", "")[:80] or f"{text(best_us(result))} us"
            print(f"{done}/{len(tasks) * len(options.arms)} {name_of(pair[0])} {pair[1]}: {said}", flush=True)
    print_tables(options, tasks, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
