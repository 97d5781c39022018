"""Every problem of a folder becomes a task, or a line that says why not."""

from __future__ import annotations

import hashlib
import pathlib
import sys
import tempfile
import time
from typing import Any

from ..errors import KernelwrightError, TaskError
from ..torch_task.agreement import largest_difference, write_answers
from ..torch_task.import_file import import_file, write_task
from ..torch_task.limited_process import warm_up
from .bench_folder import ProblemFile, benchmark, problem_files, read_json, write_json
from .degenerate import degenerate_reason

# Two float64 computations of the same operations in the same order differ only where a library chooses another algorithm.
agreement_limit = 1e-9


def import_folder(source: pathlib.Path, out: pathlib.Path, levels: set[int] | None, *, check: bool, again: bool, seconds: float,
                  memory_bytes: int, dropout: str = "identity", train_elements: int | None = None) -> dict[str, Any]:
    warm_up()
    known = {} if again or not (out / "import.json").exists() else _known(out)
    files = problem_files(source, levels)
    # Problems of other levels that were imported before stay.
    problems = [each for each in known.values() if levels is not None and each["level"] not in levels]
    started = time.monotonic()
    for at, file in enumerate(files):
        digest = hashlib.sha256(file.path.read_bytes()).hexdigest()
        entry = known.get((file.key, digest)) or _import(file, digest, out, seconds, memory_bytes, dropout, train_elements)
        problems.append(entry)
        write_json(out / "import.json", {"source": str(source), "problems": problems, "complete": at + 1 == len(files)})
        print(f"\r{at + 1}/{len(files)} {file.key:8} {time.monotonic() - started:5.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if check:
        _check(problems, out, seconds)
    report = {"source": str(source), "problems": problems, "complete": True}
    write_json(out / "import.json", report)
    return report


def _known(out: pathlib.Path) -> dict[tuple[str, str], dict[str, Any]]:
    before = read_json(out / "import.json", "the import so far")
    return {(each["key"], each["sha256"]): each for each in before["problems"]
            if not each["expressible"] or (out / "tasks" / each["task"] / "task.yaml").exists()}


def _import(file: ProblemFile, digest: str, out: pathlib.Path, seconds: float, memory_bytes: int, dropout: str,
            train_elements: int | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"key": file.key, "level": file.level, "number": file.number, "title": file.title, "task": file.task_name,
                             "sha256": digest}
    reason = degenerate_reason(file.level, file.number)
    if reason:
        entry["degenerate"] = reason
    try:
        made = import_file(file.path.resolve(), name=file.task_name, dropout=dropout, seconds=seconds, memory_bytes=memory_bytes,
                           train_elements=train_elements, family=benchmark)
    except TaskError as error:
        return {**entry, "expressible": False, "reason": str(error)}
    write_task(made, out / "tasks")
    return {**entry, "expressible": True, "notes": made["notes"], "fixed_shapes": not made["sizes"]["small"][0],
            "inputs": len(made["inputs"])}


def _check(problems: list[dict[str, Any]], out: pathlib.Path, seconds: float) -> None:
    """The reference that the program runs against the problem's own module; the result goes into the entries."""
    waiting = [each for each in problems if each["expressible"] and "difference" not in each and "problem" not in each]
    for at in range(0, len(waiting), 16):
        some = waiting[at:at + 16]
        with tempfile.TemporaryDirectory() as folder:
            failed = write_answers([out / "tasks" / each["task"] for each in some], pathlib.Path(folder))
            for each in some:
                if each["task"] in failed:
                    each["problem"] = failed[each["task"]]
                    continue
                made = read_json(out / "tasks" / each["task"] / "problem.json", "an imported problem")
                try:
                    each["difference"] = largest_difference(made, pathlib.Path(folder), seconds)
                except KernelwrightError as error:
                    each["problem"] = str(error)
        print(f"\rcompared with PyTorch: {min(at + 16, len(waiting))}/{len(waiting)}", end="", file=sys.stderr, flush=True)
    if waiting:
        print(file=sys.stderr)


def agrees(entry: dict[str, Any]) -> bool:
    return entry.get("difference") is not None and entry["difference"] <= agreement_limit


def import_table(report: dict[str, Any]) -> str:
    lines = []
    checked = any("difference" in each or "problem" in each for each in report["problems"])
    for level in sorted({each["level"] for each in report["problems"]}):
        some = [each for each in report["problems"] if each["level"] == level]
        good = [each for each in some if each["expressible"]]
        line = f"level {level}: {len(good)} of {len(some)} are tasks"
        if checked:
            line += f"; {sum(map(agrees, good))} references equal PyTorch's module (largest difference {_largest(good):.1e})"
        lines.append(line + f"; {sum('degenerate' in each for each in some)} marked as degenerate")
    for each in report["problems"]:
        if not each["expressible"]:
            lines.append(f"  {each['key']:7} {each['title']}: {each['reason']}")
        elif "problem" in each:
            lines.append(f"  {each['key']:7} {each['title']}: its reference fails: {each['problem']}")
        elif "difference" in each and not agrees(each):
            lines.append(f"  {each['key']:7} {each['title']}: its reference differs from PyTorch's module by {each['difference']:.2e}")
    return "\n".join(lines)


def _largest(entries: list[dict[str, Any]]) -> float:
    return max((each["difference"] for each in entries if "difference" in each), default=0.0)
