"""Two tables: KernelBench's own scorer, unmodified, and ours, which is harder to please.

Ours counts a kernel as right when our judge does: private inputs of many kinds, sizes that the kernel's author never saw, a bound on errors
from float64. It counts a kernel as fast only when the lower end of the measured interval is above PyTorch's time. The denominator is all
problems of the levels, those that could not be imported and those without a kernel among them. Degenerate problems are marked, and counted
in a column of their own.
"""

from __future__ import annotations

import pathlib
import secrets
import sys
from typing import Any

from ..errors import KernelwrightError, ServiceError, TaskError
from ..judge import Judge
from .baselines import time_pytorch
from .bench_folder import benchmark, imported_problems, read_json, write_json
from .score_page import score_page
from .stock_scorer import check_stock, score_with_stock, stock_table

# What the same pipe says about files without a kernel of their own: both must score 0.
controls = {
    "unchanged PyTorch": "import torch\n\n\nclass ModelNew(Model):\n    pass\n",
    "torch.compile alone": "import torch\n\n\nclass ModelNew(Model):\n    forward = torch.compile(Model.forward)\n",
}


def score_folder(folder: pathlib.Path, levels: set[int] | None, *, stock: pathlib.Path | None, url: str | None = None,
                 even_if_learned: bool = False) -> int:
    problems = imported_problems(folder, levels)
    remembered = kernels_of_learners(folder, problems)
    if remembered and not even_if_learned:
        raise KernelwrightError(f"{len(remembered)} kernels (the first for {remembered[0]}) are of agents that learned from tasks of "
                                f"{benchmark}: that is no score; --even-if-learned makes the tables all the same, and they say so")
    if stock is not None:
        check_stock(stock)  # before an hour of judging
    rows, control_rows = hardened_rows(folder, problems, url)
    if any(row.get("backend") == "gpu" for row in rows):
        _time_baselines(folder, problems, rows)
    report: dict[str, Any] = {"hardened": rows, "controls": control_rows, "remembered": remembered}
    print(hardened_table(rows, control_rows, remembered))
    if stock is not None:
        report["stock"] = score_with_stock(folder, problems, stock)
        print(stock_table(report["stock"], problems))
    else:
        print("the stock scorer was not run: --stock CHECKOUT runs it, on a machine with a GPU")
    write_json(folder / "score.json", report)
    (folder / "score.html").write_text(score_page(report))
    print(f"{folder / 'score.html'} has every kernel")
    return 0


def kernels_of_learners(folder: pathlib.Path, problems: list[dict[str, Any]]) -> list[str]:
    """Keys of problems whose kernels come from agents that were trained on this benchmark (running.py notes it)."""
    found = []
    for problem in problems:
        place = folder / "kernels" / f"{problem['task']}.json"
        if problem["expressible"] and place.exists() and benchmark in (read_json(place, "a run's kernels").get("learned_from") or []):
            found.append(problem["key"])
    return found


def hardened_rows(folder: pathlib.Path, problems: list[dict[str, Any]], url: str | None) -> tuple[list[dict[str, Any]], dict[str, int]]:
    rows, wanted = [], []
    for problem in problems:
        row = {key: problem.get(key) for key in ("key", "level", "number", "title", "degenerate")}
        place = folder / "kernels" / f"{problem['task']}.json"
        result = read_json(place, "a run's kernels") if problem["expressible"] and place.exists() else {}
        best = result.get("best")
        # The library's kernel, which speedups are stated against, was judged in the run; it is nobody's score.
        row["library"] = (result.get("library") or {}).get("status")
        row["status"] = "no kernel" if problem["expressible"] else "not imported"
        if best:
            row["kernel"] = best["kernel"]
            wanted.append((row, folder / "tasks" / problem["task"]))
        rows.append(row)
    with Judge(url=url) as judge:
        for (row, _), verdict in zip(wanted, judge.judge_many([(task, row["kernel"]) for row, task in wanted], in_flight=8)):
            row.update(_of_verdict(verdict.json))
            print(f"\rjudged {row['key']:8}", end="", file=sys.stderr, flush=True)
        counted = _controls(judge, folder, problems)
    print(file=sys.stderr)
    return rows, counted


def _time_baselines(folder: pathlib.Path, problems: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    """torch.compile beside eager, in the same run; the judge has timed eager at the task's own sizes."""
    for problem, row in zip(problems, rows):
        if row.get("correct"):
            made = read_json(folder / "tasks" / problem["task"] / "problem.json", "an imported problem")
            row["pytorch"] = time_pytorch(pathlib.Path(made["source"]))
            compiled = row["pytorch"].get("compile")
            upper = (row.get("time_interval_us") or [0, float("inf")])[1]
            same_shapes = not made["derived_shapes"]
            row["faster_than_compile"] = bool(row["fast"] and compiled and same_shapes and upper < compiled["interval_us"][0])


def _of_verdict(verdict: dict[str, Any]) -> dict[str, Any]:
    row = {key: verdict.get(key) for key in ("status", "correct", "summary", "backend", "time_us", "time_source",
                                             "speedup_pytorch", "flags", "time_interval_us")}
    row["fast"] = is_fast(verdict)
    return row


def is_fast(verdict: dict[str, Any]) -> bool:
    """Measured, right, and PyTorch's time above the upper end of the kernel's at every size that was timed."""
    if not verdict.get("correct") or verdict.get("time_source") != "measured":
        return False
    times = verdict.get("times") or []
    return bool(times) and all(each.get("pytorch_us") and (each.get("time_interval_us") or [0, float("inf")])[1] < each["pytorch_us"]
                               for each in times)


def _controls(judge: Judge, folder: pathlib.Path, problems: list[dict[str, Any]]) -> dict[str, int]:
    """How many problems each control solves, of a few that are drawn each time."""
    possible = [each for each in problems if each["expressible"]]
    chosen = [possible[secrets.randbelow(len(possible))] for _ in range(min(3, len(possible)))]
    return {name: sum(_solves(judge, folder / "tasks" / each["task"], text) for each in chosen) for name, text in controls.items()}


def _solves(judge: Judge, task: pathlib.Path, text: str) -> bool:
    try:
        return judge.judge(task, text).correct
    except (ServiceError, TaskError):  # a problem that the service refuses is solved by nobody
        return False


def counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Solved are right kernels of problems that are not degenerate: a kernel that writes zeros is right for some of those."""
    right = [row for row in rows if row.get("correct")]
    solved = [row for row in right if not row.get("degenerate") and "constant_task" not in (row.get("flags") or [])]
    return {"problems": len(rows), "right": len(right), "solved": len(solved), "fast": sum(bool(row.get("fast")) for row in solved),
            "compile": sum(bool(row.get("faster_than_compile")) for row in solved),
            "degenerate": sum(bool(row.get("degenerate")) for row in rows),
            "library": sum(row.get("library") == "correct" for row in rows)}


def hardened_table(rows: list[dict[str, Any]], control_rows: dict[str, int], remembered: list[str]) -> str:
    lines = []
    if remembered:
        lines.append(f"NOT A SCORE: {len(remembered)} of the kernels were written by agents that learned from tasks of {benchmark}")
    lines += ["hardened: our judge" + _device(rows),
             f"{'level':>8} {'problems':>9} {'right':>6} {'solved':>7} {'fast':>5} {'> compile':>10} {'degenerate':>11} {'library':>8}"]
    for level in [*sorted({row["level"] for row in rows}), None]:
        some = [row for row in rows if level is None or row["level"] == level]
        each = counts(some)
        lines.append(f"{'all' if level is None else level:>8} {each['problems']:>9} {each['right']:>6} "
                     f"{each['solved']:>7} {each['fast']:>5} {each['compile']:>10} {each['degenerate']:>11} {each['library']:>8}")
    lines.append("solved: right, and the problem is not degenerate; fast: also measured faster than PyTorch by more than the interval")
    lines.append("> compile: fast, and the interval lies below that of torch.compile, timed in the same run at the same shapes")
    lines.append("library: beside the agents' own, problems whose plain kernel by rules, without a model, was judged right in the run")
    lines += [f"control: {name} solves {solved} (must be 0)" for name, solved in control_rows.items()]
    return "\n".join(lines)


def _device(rows: list[dict[str, Any]]) -> str:
    backends = {row.get("backend") for row in rows if row.get("backend")}
    if backends == {"gpu"}:
        return " on a GPU"
    return (", in the emulator at derived shapes: times are modelled, so that nothing counts as fast, and neither eager PyTorch nor "
            "torch.compile is timed")
