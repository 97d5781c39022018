"""The AI CUDA Engineer archive: every row is judged again, and what is right becomes data for training.

    kernelwright data import-sakana level_1.parquet --out folder

A row has a PyTorch function and a CUDA extension that is said to compute the same. Here the function becomes a task (its tensors the task's
inputs, its numbers inputs with one value), the extension's host code is interpreted and never run, and the judge decides. The archive is
made from KernelBench's problems: everything that is kept is marked `kernelbench` and must not train a model that is scored on KernelBench.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import inspect
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, Iterator

from .errors import KernelwrightError, TaskError
from .program import find_program

columns = ["Op_Name", "Level_ID", "Task_ID", "Kernel_Name", "CUDA_Code", "PyTorch_Code_Functional", "Correct"]
mark = "kernelbench"
undecided = ("", "no_task", "internal_error", "unsupported", "timeout")  # statuses that say nothing about the kernel
max_code_bytes = 1 << 20


class ArchiveError(KernelwrightError):
    """A file that is not the archive's parquet, or a damaged one."""


def read_rows(file: pathlib.Path, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """The rows of one parquet file, as dictionaries of the columns that are needed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ArchiveError("reading parquet needs pyarrow: pip install 'kernelwright[data]'") from error
    try:
        table = pyarrow.parquet.ParquetFile(file)
        names = set(table.schema_arrow.names)
    except (OSError, pyarrow.ArrowException) as error:
        raise ArchiveError(f"{file} cannot be read as parquet: {str(error).splitlines()[0]}") from error
    missing = [name for name in columns if name not in names]
    if missing:
        raise ArchiveError(f"{file} is not the archive: it lacks the columns {', '.join(missing)}")
    count = 0
    try:
        for batch in table.iter_batches(batch_size=64, columns=columns):
            for row in batch.to_pylist():
                if limit is not None and count >= limit:
                    return
                count += 1
                yield row
    except (OSError, pyarrow.ArrowException) as error:
        raise ArchiveError(f"{file} is damaged after {count} rows: {str(error).splitlines()[0]}") from error


def row_name(row: dict[str, Any]) -> str:
    return re.sub(r"\W+", "_", f"l{row['Level_ID']}_{row['Task_ID']}_{row['Op_Name']}_{row['Kernel_Name']}").strip("_").lower()[:120]


def _recorded_call(code: str, folder: pathlib.Path):
    """The function of a row, and the arguments that its module gives it."""
    import torch

    path = folder / "functional.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location("kernelwright_archive_row", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, "module_fn", None) or getattr(module, "forward_fn", None)
    if function is None:
        raise TaskError("the row's PyTorch text has no function module_fn")
    calls = []

    def recorder(*arguments, **named):
        bound = inspect.signature(function).bind(*arguments, **named)
        calls.append(bound.args)
        return function(*bound.args)

    with torch.no_grad():
        torch.manual_seed(0)
        model = module.Model(*module.get_init_inputs()).eval()
        model.forward(*module.get_inputs(), fn=recorder)
    if len(calls) != 1:
        raise TaskError(f"the module calls its function {len(calls)} times, not once")
    return function, calls[0]


def task_of_row(row: dict[str, Any]) -> str:
    """The YAML of the task that the row's function stands for. Executes the row's Python: call it in a child process."""
    import torch

    from .torch_task import task_from

    with tempfile.TemporaryDirectory() as name:
        function, arguments = _recorded_call(row["PyTorch_Code_Functional"], pathlib.Path(name))
        names = list(inspect.signature(function).parameters)
        tensors, numbers, call = [], [], []
        for position, value in enumerate(arguments):
            if isinstance(value, torch.Tensor):
                tensors.append((names[position], value.detach()))
                call.append(names[position])
            elif isinstance(value, (bool, int, float)):
                numbers.append((position, names[position], value))
                call.append(repr(value))
            else:
                raise TaskError(f"the argument {names[position]} is {type(value).__name__}, neither a tensor nor a number")
        parameters = ", ".join(name for name, _ in tensors)
        path = pathlib.Path(name) / "bound.py"
        path.write_text(f"def forward({parameters}):\n    return function({', '.join(call)})\n")
        scope = {"function": function, "inf": float("inf"), "nan": float("nan")}
        exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102
        task = task_from(scope["forward"], [value for _, value in tensors], name=row_name(row)[:60])
    yaml = task.yaml.replace("\nfamily: imported\n", f"\nfamily: {mark}\n", 1)
    return with_numbers(yaml, [name for name, _ in tensors], numbers)


def with_numbers(text: str, tensors: list[str], numbers: list[tuple[int, str, Any]]) -> str:
    """The task with inputs for the function's numbers, each with its one value, where the function has them."""
    lines = text.splitlines()
    begin = lines.index("inputs:") + 1
    end = begin
    while end < len(lines) and lines[end].startswith("  "):
        end += 1
    entries = lines[begin:end]
    if len(entries) != len(tensors):
        raise TaskError("the task has other inputs than the function has tensors")
    for position, name, value in numbers:
        whole = isinstance(value, (bool, int))
        kind = "int32" if whole else "float32"
        if whole and not -2**31 <= int(value) < 2**31:
            raise TaskError(f"the number {name} does not fit 32 bits")
        bounds = f"{{integers: [{int(value)}, {int(value)}]}}" if whole else f"{{uniform: [{value!r}, {value!r}]}}"
        entries.insert(position, f"  {name}_: {{dtype: {kind}, shape: [], values: {bounds}}}")
    return "\n".join(lines[:begin] + entries + lines[end:]) + "\n"


def _prepare(row: dict[str, Any], seconds: float) -> tuple[str | None, str]:
    """The row's task, or None and the reason."""
    from .torch_task.limited_process import run_limited

    code, functional = row["CUDA_Code"], row["PyTorch_Code_Functional"]
    if not isinstance(code, str) or not isinstance(functional, str) or not code.strip() or not functional.strip():
        return None, "the row lacks its CUDA or PyTorch text"
    if len(code.encode()) > max_code_bytes or len(functional.encode()) > max_code_bytes:
        return None, "the row's text is larger than a mebibyte"
    try:
        return run_limited(lambda: task_of_row(row), seconds), ""
    except TaskError as error:
        return None, f"no task: {error}"


def judge_rows(rows: list[dict[str, Any]], folder: pathlib.Path, seconds: float = 120, workers: int = 0) -> list[dict[str, Any]]:
    """Each row's name, what the archive says, and our verdict; verdicts in the folder are not computed again."""
    tasks = folder / "tasks"
    tasks.mkdir(parents=True, exist_ok=True)
    results, jobs = [], []
    for at, row in enumerate(rows):
        result = {"id": f"{at}_{row_name(row)}", "row": at, "source": mark, "archive_correct": bool(row["Correct"]), "status": "",
                  "reason": ""}
        yaml, reason = _prepare(row, seconds)
        if yaml is None:
            result.update(status="no_task", reason=reason)
        else:
            path = tasks / f"{result['id']}.yaml"
            path.write_text(yaml)
            jobs.append({"id": result["id"], "task": str(path), "kernel": row["CUDA_Code"]})
        results.append(result)
    verdicts = _judge(jobs, folder, workers) if jobs else {}
    for result in results:
        verdict = verdicts.get(result["id"])
        if verdict is not None:
            result.update(status=str(verdict.get("status", "")), reason=_reason(verdict))
    return results


def _judge(jobs: list[dict[str, Any]], folder: pathlib.Path, workers: int) -> dict[str, dict[str, Any]]:
    listed, out = folder / "jobs.jsonl", folder / "verdicts.jsonl"
    listed.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    command = [str(find_program()), "judge", "--batch", str(listed), "--out", str(out), "--workers", str(workers)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if not out.exists():
        raise KernelwrightError(f"judging failed: kernelwright judge ended with {done.returncode}")
    verdicts = {}
    for line in out.read_text().splitlines():
        verdict = json.loads(line)
        verdicts[verdict.get("id")] = verdict.get("verdict", verdict)
    return verdicts


def _reason(verdict: dict[str, Any]) -> str:
    text = str(verdict.get("summary") or "").strip()
    return text.splitlines()[0][:300] if text else ""


def report(results: list[dict[str, Any]]) -> str:
    """What the archive says against what we find, with the reasons for every kernel that it calls correct and we do not."""
    said = [result for result in results if result["archive_correct"]]
    agree = [result for result in said if result["status"] == "correct"]
    wrong = [result for result in said if result["status"] not in ("correct", *undecided)]
    lines = [f"{len(results)} rows, {len(said)} of them correct by the archive: {len(agree)} are, {len(wrong)} are not, "
             f"{len(said) - len(agree) - len(wrong)} could not be decided"]
    for status, count in collections.Counter(result["status"] for result in wrong).most_common():
        lines.append(f"  {status}: {count}")
    lines += [f"    {result['id']}: {result['status']}: {result['reason']}" for result in said if result["status"] != "correct"]
    return "\n".join(lines)


def keep(rows: list[dict[str, Any]], results: list[dict[str, Any]], file: pathlib.Path) -> int:
    """Writes what we found correct, marked with where it comes from; returns how many rows."""
    kept = 0
    with file.open("w") as out:
        for row, result in zip(rows, results):
            if result["status"] != "correct":
                continue
            kept += 1
            out.write(json.dumps({"source": mark, "never_with": ["kernelbench-score"], "id": result["id"], "license": "CC-BY-4.0",
                                  "task": (file.parent / "tasks" / f"{result['id']}.yaml").read_text(), "kernel": row["CUDA_Code"]}) + "\n")
    return kept


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright data import-sakana", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, metavar="FILE.parquet")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("sakana"), help="the folder for tasks, verdicts and kept rows")
    parser.add_argument("--limit", type=int, help="the first so many rows only")
    parser.add_argument("--workers", type=int, default=0, help="kernels judged at the same time; 0: one per core")
    arguments = parser.parse_args([word for word in (sys.argv[1:] if words is None else words) if word != "import-sakana"])
    try:
        rows = list(read_rows(arguments.file, arguments.limit))
        results = judge_rows(rows, arguments.out, workers=arguments.workers)
        (arguments.out / "rows.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results))
        print(report(results))
        print(f"{keep(rows, results, arguments.out / 'kept.jsonl')} rows kept in {arguments.out / 'kept.jsonl'}, marked {mark}")
    except KernelwrightError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
