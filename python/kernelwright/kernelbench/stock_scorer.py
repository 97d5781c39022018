"""KernelBench's own scorer, unmodified, from a checkout that the user names, in a process of its own."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

from ..errors import KernelwrightError

# The scorer's package also holds clients of language models. Scoring does not use them, so where they are not installed they are left empty.
_scorer = """
import importlib.util, json, sys, types
for name, holds in (("openai", "OpenAI"), ("litellm", "completion"), ("dotenv", "load_dotenv")):
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = types.ModuleType(name)
        setattr(sys.modules[name], holds, lambda *arguments, **named: None)
sys.path.insert(0, sys.argv[1])
from kernelbench.eval import eval_kernel_against_ref
reference, candidate = (open(path).read() for path in sys.argv[2:4])
timings = int(sys.argv[4])
result = eval_kernel_against_ref(reference, candidate, num_correct_trials=5, num_perf_trials=max(timings, 1), measure_performance=timings > 0,
                                 timing_method="cuda_event", backend="cuda")
print("RESULT " + json.dumps({"compiled": bool(result.compiled), "correct": bool(result.correctness), "runtime": result.runtime,
                              "ref_runtime": getattr(result, "ref_runtime", None),
                              "metadata": {k: str(v) for k, v in result.metadata.items()}}))
"""


def check_stock(checkout: pathlib.Path) -> None:
    """Raises KernelwrightError where it cannot run."""
    import torch

    if not torch.cuda.is_available():
        raise KernelwrightError("the stock scorer runs kernels on a GPU, and PyTorch sees none here; "
                                "leave --stock out for the hardened table alone")
    if not (checkout / "src" / "kernelbench" / "eval.py").exists():
        raise KernelwrightError(f"{checkout} is no checkout of KernelBench: src/kernelbench/eval.py is missing")


def score_with_stock(folder: pathlib.Path, problems: list[dict[str, Any]], checkout: pathlib.Path, seconds: float = 600) -> dict[str, Any]:
    import torch

    results: dict[str, Any] = {}
    for problem in problems:
        export = folder / "exports" / f"level{problem['level']}" / f"{problem['title']}.py"
        if not export.exists():
            continue
        made = json.loads((folder / "tasks" / problem["task"] / "problem.json").read_text())
        results[problem["key"]] = stock_result(checkout, pathlib.Path(made["source"]), export, seconds=seconds)
    commit = subprocess.run(["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True)
    return {"commit": commit.stdout.strip() or "unknown", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "results": results}


def stock_result(checkout: pathlib.Path, problem: pathlib.Path, export: pathlib.Path, *, timings: int = 100,
                 seconds: float = 600) -> dict[str, Any]:
    """What it says of one file with a ModelNew; without timings it only compares."""
    command = [sys.executable, "-c", _scorer, str(checkout / "src"), str(problem), str(export), str(timings)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"correct": False, "problem": f"took over {seconds:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return json.loads(lines[-1][7:]) if lines else {"correct": False, "problem": done.stderr.strip()[-500:]}


def stock_table(stock: dict[str, Any], problems: list[dict[str, Any]]) -> str:
    results = stock["results"]
    lines = [f"stock scorer of KernelBench {stock['commit'][:10]}, {stock['device']}, torch {stock['torch']}: "
             "5 trials, 100 timings, cuda_event",
             f"{'level':>8} {'problems':>9} {'correct':>8} {'fast_1':>7} {'fast_2':>7}"]
    for level in sorted({each["level"] for each in problems}):
        some = [each for each in problems if each["level"] == level]
        right = [results[each["key"]] for each in some if results.get(each["key"], {}).get("correct")]
        speedups = [each["ref_runtime"] / each["runtime"] for each in right if each.get("ref_runtime") and each.get("runtime", 0) > 0]
        lines.append(f"{level:>8} {len(some):>9} {len(right):>8} {sum(each > 1 for each in speedups):>7} "
                     f"{sum(each > 2 for each in speedups):>7}")
    return "\n".join(lines)
