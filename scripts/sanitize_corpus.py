#!/usr/bin/env python3
"""Runs kernels of tests/ on a GPU under compute-sanitizer and compares with the emulator's verdicts.

What compute-sanitizer finds must be a subset of what we find, and our own device code, which runs beside every kernel, must be clean. Needs a
GPU and compute-sanitizer.
Usage: scripts/sanitize_corpus.py GPU_BENCH [--jobs N] [--tools memcheck,racecheck,...] [--only FOLDER] [--limit N]
Prints a Markdown table; exit code 1 when compute-sanitizer knows better.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def sanitize(program, tool, file, bare):
    """The number of errors that the tool reports, and the first of them."""
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "3", program, "replay", "--file", file] + (["--bare"] if bare else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=12, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return None, "took longer than 12 s"
    text = done.stdout + done.stderr
    counts = [int(number) for number in re.findall(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", text)]
    first = re.search(r"^========= ((?!COMPUTE-SANITIZER|Target application).*)$", text, re.MULTILINE)
    if not counts:
        return None, text[-300:]
    return sum(counts), first.group(1) if first else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--tools", default="memcheck,racecheck,initcheck,synccheck")
    parser.add_argument("--only", default="bugs")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--ours", action="store_true", help="with our own device code beside the kernels")
    arguments = parser.parse_args()
    tools = arguments.tools.split(",")
    folder = tempfile.mkdtemp()
    subprocess.run([arguments.program, "pack", "--only", arguments.only, "--file", folder], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    kernels = [json.loads(line) for line in open(folder + "/index.jsonl")]
    runnable = [kernel for kernel in kernels if kernel["file"]]
    if arguments.limit:
        runnable = runnable[: arguments.limit]
    found, clean, unfinished, better, both = 0, 0, [], [], {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        answers = pool.map(lambda kernel: [sanitize(arguments.program, tool, kernel["file"], not arguments.ours) for tool in tools], runnable)
        for kernel, results in zip(runnable, answers):
            errors = {tool: count for tool, (count, _) in zip(tools, results) if count}
            for tool, (count, text) in zip(tools, results):
                if count is None:
                    unfinished.append(f"{kernel['name']} ({kernel['status']}): {tool}: {text.strip()[-120:]!r}")
            if errors and kernel["status"] == "correct":
                better.append(f"{kernel['name']}: {errors}: {next(text for count, text in results if count)}")
            found += bool(errors)
            clean += not errors and kernel["status"] == "correct"
            if errors:
                both[kernel["status"]] = both.get(kernel["status"], 0) + 1
    print(f"tests/{arguments.only}: {len(kernels)} kernels, {len(runnable)} of them can be launched; tools: {' '.join(tools)}\n")
    print("| reported by compute-sanitizer | with our status | clean there and correct here | unfinished | known only to compute-sanitizer |")
    print("| --- | --- | --- | --- | --- |")
    print(f"| {found} | {' '.join(f'{status} {count}' for status, count in sorted(both.items()))} | {clean} | {len(unfinished)} | {len(better)} |")
    for line in better:
        print("- only there: " + line)
    for line in unfinished[:20]:
        print("- unfinished: " + line)
    return 1 if better else 0


if __name__ == "__main__":
    sys.exit(main())
