#!/usr/bin/env python3
"""Compares modelled times with measured ones: compare_model.py MODELLED.jsonl MEASURED.jsonl [train|holdout]

MODELLED is the output of performance_model_bench, MEASURED that of check_kernels_on_gpu.py.
"""
import json
import math
import statistics
import sys


def read(path, kind):
    times = {}
    for line in open(path):
        entry = json.loads(line)
        if entry.get("kind", kind) == kind:
            times[entry["task"], entry["kernel"], json.dumps(entry["size"], sort_keys=True)] = entry
    return times


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    place = [0] * len(values)
    for rank, index in enumerate(order):
        place[index] = rank
    return place


def main():
    kind = sys.argv[3] if len(sys.argv) > 3 else "train"
    modelled, measured = read(sys.argv[1], kind), read(sys.argv[2], kind)
    keys = sorted(modelled.keys() & measured.keys())
    if len(keys) < 2:
        sys.exit("nothing to compare: the two files share no kernel and size")
    ratio = {key: modelled[key]["us"] / measured[key]["us"] for key in keys}
    factor = sorted(max(value, 1 / value) for value in ratio.values())
    inside = sum(modelled[key]["low_us"] <= measured[key]["us"] <= modelled[key]["high_us"] for key in keys)
    a, b = (ranks([times[key]["us"] for key in keys]) for times in (modelled, measured))
    n = len(keys)
    spearman = 1 - 6 * sum((x - y) ** 2 for x, y in zip(a, b)) / (n * (n * n - 1))
    print(f"{n} kernels and sizes: median factor {factor[n // 2]:.2f}, 90 % within {factor[int(n * 0.9)]:.2f}, "
          f"mean error {100 * statistics.mean(abs(value - 1) for value in ratio.values()):.0f} %, "
          f"Spearman {spearman:.3f}, {inside} inside their interval")
    right, wrong = 0, []
    for task, kernel, size in keys:
        other = (task, "optimised", size)
        if kernel != "naive" or other not in ratio:
            continue
        real = measured[task, kernel, size]["us"] / measured[other]["us"]
        model = modelled[task, kernel, size]["us"] / modelled[other]["us"]
        if abs(math.log(real)) < math.log(1.05):
            continue  # a tie
        right += (real > 1) == (model > 1)
        if (real > 1) != (model > 1):
            wrong.append(f"{task} {size}: measured {real:.2f}, modelled {model:.2f}")
    print(f"naive against optimised: {right} right, {len(wrong)} wrong", *wrong, sep="\n  ")
    print("\n| limiter | n | modelled / measured (geometric mean) |\n| --- | ---: | ---: |")
    for limiter in sorted({modelled[key]["limiter"] for key in keys}):
        logs = [math.log(ratio[key]) for key in keys if modelled[key]["limiter"] == limiter]
        print(f"| {limiter} | {len(logs)} | {math.exp(statistics.mean(logs)):.2f} |")
    print("\nfarthest off:")
    for key in sorted(keys, key=lambda key: -abs(math.log(ratio[key])))[:20]:
        print(f"  {ratio[key]:6.2f}  {' '.join(key)}  modelled {modelled[key]['us']:.1f}, measured "
              f"{measured[key]['us']:.1f} ({modelled[key]['limiter']})")


main()
