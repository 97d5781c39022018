#!/usr/bin/env python3
"""Is a search better than sampling? On held-out tasks, with the same number of verdicts for both: `samples` takes the best of so many
different kernels of the Generator, as they come; `search` has all operators, and the performance model looks at kernels before they get a
verdict (how many, is said beside). Further arms: `unfiltered` is the search with every right kernel measured, to see what the filter saves on
a GPU; `looked` is sampling with the model's looks, `blind` the search without them, `constants` lacks Optimizer, edits and library.

    scripts/search_against_samples.py OUT [--composition 40] [--verdicts 64] [--minutes 9] [--tasks softplus geglu ...] [--arms samples search]

Tasks: the suite's held-out ones, so many of the grammar's with --composition, or those that are named (suite, folder, YAML file). What an arm found
stands in OUT/TASK.ARM.json; the same command skips what is there, so that a long comparison may be done in several calls of bounded time.
A run that is cut off by --minutes leaves its store and goes on next time. The first two arms come first for all tasks, then the others.

Ends with a table: for each arm against the first one, tasks won and lost, the geometric mean of the ratio of best times where both have a
right kernel, and p values of the sign test and of Wilcoxon's signed ranks, where a task that only one of them solves is the largest
difference of all. Measured times are equal where their intervals meet. Then, for the second arm, what changed
constants gained: over the first right kernel of the level that the best kernel comes from (measured once more with --backend gpu where the
search did not), and over the kernel that they were changed in. And the measurements of `search` against `unfiltered`.
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
    "samples": ["--operators", "generator", "--looks", "0", "--measured-share", "1"],
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


CHANGES = ("constants", "edits")


def lineage(result, among):
    """From the best kernel back to the one that an agent or the library wrote, through changes of these kinds."""
    candidates = result["candidates"]
    line = [candidates[result["best"]["candidate"]]]
    while line[-1]["from"] in among and line[-1]["parent"] is not None:
        line.append(candidates[line[-1]["parent"]])
    return line


def by_changes(result, among):
    """How much faster the best kernel is than the kernel that was changed so."""
    if not best_us(result):
        return None
    before = lineage(result, among)[-1]["time_us"]
    return before / best_us(result) if before else None


def by_constants(result):
    return by_changes(result, ("constants",))


def level_of(candidate):
    return (candidate["from"] if candidate["from"] in ("given", "optimizer") else "generator", candidate["change"]
            if candidate["from"] == "generator" else "")


def first_of_best_level(result):
    """The first right kernel of the level that the best kernel comes from."""
    if not best_us(result):
        return None
    level = level_of(lineage(result, CHANGES)[-1])
    for candidate in result["candidates"]:
        if candidate["from"] not in CHANGES and level_of(candidate) == level and candidate["time_us"]:
            return candidate
    return None


def time_of(options, task, candidate):
    """Measured where the best one is: the search itself may have left it at what the model expects."""
    if candidate["measurements"] or options.backend != "gpu":
        return candidate["time_us"]
    known = options.out / f"{name_of(task)}.first.json"
    if not known.exists():
        kernel = options.out / f"{name_of(task)}.first.cu"
        kernel.write_text(candidate["kernel"])
        command = [PROGRAM, "judge", task, kernel, "--backend", options.backend, "--no-pytorch", "--no-explain", "--json"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        known.write_text(done.stdout or "{}")
    verdict = json.loads(known.read_text())
    return verdict.get("time_us") if verdict.get("correct") else None


def over_first(options, task, result):
    first = first_of_best_level(result)
    us = time_of(options, task, first) if first else None
    return us / best_us(result) if us else None


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


def print_arms(options, good, results):
    first, *others = options.arms
    print(f"{'arm':12}{'solved':>7}{'verdicts':>9}{'looks':>7}{'measured':>9}{'minutes':>8}{'against':>10}{'won':>5}{'lost':>5}{'equal':>6}"
          f"{'geo. mean':>10}{'p sign':>10}{'p Wilcoxon':>11}")
    for arm in options.arms:
        own = [results[task, arm] for task in good if results.get((task, arm))]
        solved = sum(best_us(result) is not None for result in own)
        total = {key: sum(result[key] for result in own) for key in ("verdicts", "looks", "measurements", "seconds")}
        line = (f"{arm:12}{solved:>7}{total['verdicts']:>9}{total['looks']:>7}{total['measurements']:>9}{total['seconds'] / 60:>8.1f}")
        if arm in others:
            pairs = [(results[task, first], results[task, arm]) for task in good if results.get((task, arm))]
            differences = [d for d in (compared(*pair) for pair in pairs) if d is not None]
            won, lost = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
            mean = geometric_mean([math.exp(d) for d in differences if not math.isinf(d)])
            line += (f"{first:>10}{won:>5}{lost:>5}{len(differences) - won - lost:>6}{mean:>10.3f}{sign_p(won, lost):>10.2g}"
                     f"{wilcoxon_p(differences):>11.2g}")
        print(line)


def print_filter(options, good, results):
    """What measuring less costs."""
    pairs = [(results[task, "search"], results[task, "unfiltered"]) for task in good if results.get((task, "unfiltered"))]
    pairs = [(a, b) for a, b in pairs if best_us(a) and best_us(b)]
    if not pairs:
        return
    ratios = [best_us(a) / best_us(b) for a, b in pairs]
    few, many = (sum(pair[i]["measurements"] for pair in pairs) for i in (0, 1))
    print(f"filter: {few} measurements against {many}" + (f" ({few / many:.2f})" if many else "")
          + f", best time {geometric_mean(ratios):.3f} of unfiltered in geometric mean, within 2 % or faster in "
          f"{sum(ratio <= 1.02 for ratio in ratios)} of {len(ratios)} tasks")


def print_tables(options, tasks, results):
    shown = options.arms[:2]
    heads = "".join(f"{arm + ' us':>14}{'judged':>7}{'meas.':>6}" for arm in shown)
    print(f"\n{'task':28}{heads}{'ratio':>8}{'by const.':>10}{'changes':>9}{'on first':>9}")
    whole = [task for task in tasks if all(results.get((task, arm)) for arm in shown)]
    gains = {"constants": [], "changes": [], "first": []}
    for task in whole:
        row = [results[task, arm] for arm in shown]
        if any("error" in result for result in row):
            print(f"{name_of(task):28}  " + "; ".join(result["error"]["message"][:100] for result in row if "error" in result))
            continue
        difference = compared(row[0], row[-1])
        ratio = None if difference is None or math.isinf(difference) else math.exp(difference)
        here = {"constants": by_constants(row[-1]), "changes": by_changes(row[-1], CHANGES), "first": over_first(options, task, row[-1])}
        for key, value in here.items():
            gains[key].append(value)
        print(f"{name_of(task):28}" + "".join(f"{text(best_us(r)):>14}{r['verdicts']:>7}{r['measurements']:>6}" for r in row)
              + f"{text(ratio):>8}{text(here['constants']):>10}{text(here['changes']):>9}{text(here['first']):>9}")
    good = [task for task in whole if all("error" not in (results.get((task, arm)) or {}) for arm in options.arms)]
    missing = sum(results.get((task, arm)) is None for task in tasks for arm in options.arms)
    print(f"\n{len(good)} tasks, {options.verdicts} verdicts each, seed {options.seed}, {options.model}"
          + (f"; {missing} runs are missing: the same command goes on" if missing else ""))
    print_arms(options, good, results)
    print(f"the best kernels of `{shown[-1]}`, in geometric mean: {geometric_mean(gains['constants']):.3f} x the speed of the kernel whose "
          f"constants were changed, {geometric_mean(gains['changes']):.3f} x with edits, {geometric_mean(gains['first']):.3f} x the first "
          "right kernel of the same level")
    if "search" in options.arms and "unfiltered" in options.arms:
        print_filter(options, good, results)


def self_test():
    assert abs(sign_p(10, 0) - 2 / 1024) < 1e-12 and sign_p(5, 5) == 1.0 and sign_p(0, 0) == 1.0
    # All of n signs alike: 2 / 2^n, whatever the sizes.
    assert abs(wilcoxon_p([0.1, 0.2, 0.3, 0.4, math.inf, math.inf]) - 2 / 64) < 1e-12
    assert wilcoxon_p([]) == 1.0 and wilcoxon_p([0.0]) == 1.0 and wilcoxon_p([1, -1]) == 1.0
    # Ranks 1 to 5, minus for the smallest: sums of 14 or more in 2 of 32 ways, each side.
    assert abs(wilcoxon_p([-0.1, 0.2, 0.3, 0.4, 0.5]) - 4 / 32) < 1e-12
    candidates = [{"from": "generator", "parent": None, "change": "warp", "time_us": 10.0},
                  {"from": "constants", "parent": 0, "change": "a 1 -> 2", "time_us": 8.0},
                  {"from": "constants", "parent": 1, "change": "b 1 -> 2", "time_us": 5.0}]
    result = {"best": {"time_us": 5.0, "interval_us": [4.9, 5.1], "candidate": 2}, "candidates": candidates}
    assert by_constants(result) == 2.0 and by_constants({"best": None}) is None
    assert compared({"best": None}, result) == math.inf and compared(result, result) == 0.0
    assert compared({"best": {"time_us": 5.15, "interval_us": [5.05, 5.2]}}, result) == 0.0
    assert compared({"best": {"time_us": 5.5, "interval_us": [5.4, 5.6]}}, result) > 0
    earlier = {"from": "generator", "parent": None, "change": "warp", "time_us": None}
    later = [dict(each, parent=None if each["parent"] is None else each["parent"] + 2) for each in candidates]
    slow = {"from": "generator", "parent": None, "change": "naive", "time_us": 90.0}
    edited = {"from": "edits", "parent": 4, "change": "expf -> __expf", "time_us": 4.0}
    more = {"best": {"time_us": 4.0, "candidate": 5}, "candidates": [earlier, slow, *later, edited]}
    assert by_constants(more) == 1.0 and by_changes(more, CHANGES) == 2.5 and first_of_best_level(more)["time_us"] == 10.0
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

    pairs = [*itertools.product(tasks, options.arms[:2]), *itertools.product(tasks, options.arms[2:])]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done, (pair, result) in enumerate(pool.map(work, pairs), 1):
            results[pair] = result
            said = "not done" if result is None else result.get("error", {}).get("message", "")[:80] or f"{text(best_us(result))} us"
            print(f"{done}/{len(pairs)} {name_of(pair[0])} {pair[1]}: {said}", flush=True)
        second = [(task, results.get((task, options.arms[min(1, len(options.arms) - 1)]))) for task in tasks]
        if time.monotonic() < end:  # in parallel: what the table needs besides
            list(pool.map(lambda each: each[1] and "error" not in each[1] and over_first(options, *each), second))
    print_tables(options, tasks, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
