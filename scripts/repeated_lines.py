#!/usr/bin/env python3
"""Runs of six or more lines that stand more than once in src: what could be one function. Blank lines, comments, includes
and lines of brackets alone do not count; blanks at either end of a line neither.

    scripts/repeated_lines.py [--tests] [--show 20] [--most N]

Without --tests, tests and their support are left out. Exit status 1 when there are more runs than --most."""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WINDOW = 6
EMPTY = re.compile(r"^(//.*|#include.*|#pragma.*|[{}()\[\];,]*|namespace.*|public:|private:)$")


def is_test(path):
    return path.stem.endswith(("_test", "_fuzz", "_cases", "_test_support")) or path.stem.startswith("test_")


def lines_of(path):
    """(number, text) of every line that counts."""
    lines = []
    for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
        text = line.strip()
        if not EMPTY.match(text):
            lines.append((number, text))
    return lines


def find_runs(files):
    """Maximal runs: (length, [(file, first line), ...]); each repetition after the first is one run."""
    places = collections.defaultdict(list)
    contents = {file: lines_of(file) for file in files}
    for file, lines in contents.items():
        for at in range(len(lines) - WINDOW + 1):
            places[tuple(text for _, text in lines[at : at + WINDOW])].append((file, at))
    runs, covered = [], set()
    for file, lines in contents.items():
        for at in range(len(lines) - WINDOW + 1):
            if (file, at) in covered:
                continue
            first = places[tuple(text for _, text in lines[at : at + WINDOW])][0]
            if first == (file, at):
                continue
            length, other = 0, contents[first[0]]
            while (at + length < len(lines) and first[1] + length < len(other)
                   and lines[at + length][1] == other[first[1] + length][1]
                   and not (first[0] == file and first[1] + length >= at)):
                length += 1
            if length < WINDOW:
                continue
            covered.update((file, at + i) for i in range(length))
            runs.append((length, (file, lines[at][0]), (first[0], other[first[1]][0])))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--most", type=int)
    arguments = parser.parse_args()
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [ROOT / name for name in tracked if name.endswith((".h", ".cpp"))]
    files = [file for file in files if file.is_file() and (arguments.tests or not is_test(file))]
    runs = sorted(find_runs(files), key=lambda run: -run[0])
    for length, here, there in runs[: arguments.show]:
        print(f"{length:4} lines: {here[0].relative_to(ROOT)}:{here[1]} as {there[0].relative_to(ROOT)}:{there[1]}")
    print(f"{len(runs)} runs of {WINDOW} or more repeated lines, {sum(run[0] for run in runs)} lines")
    return 1 if arguments.most is not None and len(runs) > arguments.most else 0


if __name__ == "__main__":
    sys.exit(main())
