#!/usr/bin/env python3
"""Judges every kernel of tests/storms in a process of its own and prints what each took: wall time, processor time, peak
memory, and the units of work that the judge counted. The last column, nanoseconds of the processor a unit, says how well
the prices in src/kernel/emulate/work_cost.h fit.

    scripts/storms.py [--program build/kernelwright] [--jobs 1] [--csv FILE] [NAME...]

Exit status 1 when a verdict is not the one that the file asks for, or a judgement took more than --most-seconds or
--most-mib."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def facts_of(path):
    facts = {}
    for line in path.read_text().splitlines():
        if not line.startswith("// ") or ": " not in line:
            break
        key, value = line[3:].split(": ", 1)
        facts[key] = value
    return facts


def judge(program, path, most_seconds):
    """The verdict, and what the process took. Its memory is that of its largest process: compilers are its children."""
    facts = facts_of(path)
    command = [str(program), "judge", facts["task"], str(path), "--json", "--no-cache", "--backend", "emulator"]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    output = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = 0
    try:
        verdict = json.loads(output)
    except json.JSONDecodeError:
        verdict = {"status": "no verdict", "work": {"units": 0, "memory_bytes": 0}, "summary": ""}
    return {
        "name": path.stem,
        "status": verdict["status"],
        "expected": verdict["status"] in facts["status"].split("|"),
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "mib": usage.ru_maxrss / 1024,
        "units": verdict["work"]["units"],
        "held": verdict["work"]["memory_bytes"] / 2**20,
        "judge": verdict.get("judge_ms", 0) / 1e3 - verdict.get("compile_ms", 0) / 1e3,
        "kinds": verdict["work"].get("by_kind", {}),
        "summary": verdict["summary"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="kernels to judge; all of them without a name")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/kernelwright")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "tests/storms")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=35)
    parser.add_argument("--most-mib", type=float, default=4096)
    parser.add_argument("--csv", type=pathlib.Path, help="write the table there too")
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.glob("*.cu"))
    if arguments.names:
        paths = [path for path in paths if path.stem in arguments.names]
    rows = []
    print(f"{'kernel':34} {'status':15} {'wall s':>7} {'cpu s':>7} {'MiB':>6} {'M units':>8} {'ns/unit':>8}  summary")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda path: judge(arguments.program, path, arguments.most_seconds), paths):
            rows.append(row)
            price = row["cpu"] * 1e9 / row["units"] if row["units"] > 5e8 else 0
            bad = not row["expected"] or row["wall"] > arguments.most_seconds or row["mib"] > arguments.most_mib
            row["bad"] = bad
            print(f"{row['name']:34} {row['status']:15} {row['wall']:7.1f} {row['cpu']:7.1f} {row['mib']:6.0f} "
                  f"{row['units'] / 1e6:8.0f} {price:8.2f}{' !' if bad else '  '}{row['summary'][:150]}", flush=True)
    if arguments.csv:
        keys = ["name", "status", "wall", "cpu", "mib", "units", "held"]
        lines = [",".join(keys)] + [",".join(str(row[key]) for key in keys) for row in rows]
        arguments.csv.write_text("\n".join(lines) + "\n")
    bad = [row["name"] for row in rows if row["bad"]]
    print(f"{len(rows)} judged, at most {max(row['wall'] for row in rows):.1f} s, "
          f"{max(row['mib'] for row in rows):.0f} MiB; {len(bad)} not as they should be {' '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
