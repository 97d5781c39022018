#!/usr/bin/env python3
"""Does KernelBench's own scorer call the same kernels right as our judge? Kernels are the library's (docs/program.md), some with a mistake
planted into them; each is judged by our judge on the GPU, and as a ModelNew by the scorer, unmodified. Needs a GPU, nvcc and torch.

    kernelwright kernelbench import KernelBench/ --levels 1,2 --out kb
    scripts/stock_agreement.py kb --stock KernelBench/ --right 60 --mistakes 40 --jobs 14 --out agreement

Prints how often they agree, and every kernel about which they do not.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import math
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from kernelwright.kernelbench.exporting import model_new  # noqa: E402
from kernelwright.kernelbench.stock_scorer import check_stock, stock_result  # noqa: E402
from kernelwright.torch_task.size_expressions import evaluate  # noqa: E402

STORE = re.compile(r"^(\s*(?:if \(threadIdx\.x == 0\) )?)(\w+)\[at\] = (.*);$", re.M)


def last_store(change: Callable[[str, str, str], str]) -> Callable[[str], str]:
    """A mistake in the last store of an element: change(what stands before it, the array, the value)."""
    def mistake(kernel: str) -> str:
        stores = list(STORE.finditer(kernel))
        if not stores:
            return kernel
        found = stores[-1]
        return kernel[:found.start()] + change(*found.groups()) + kernel[found.end():]
    return mistake


def without_launches(kernel: str) -> str:
    return re.sub(r"^\s*\w+<<<.*?;$", "", kernel, flags=re.M | re.S)


MISTAKES: dict[str, Callable[[str], str]] = {
    "every value is a hundredth too large": last_store(lambda before, to, value: f"{before}{to}[at] = ({value}) + 0.01f;"),
    "all zeros": last_store(lambda before, to, value: f"{before}{to}[at] = 0;"),
    "every value is 1.003 times too large": last_store(lambda before, to, value: f"{before}{to}[at] = ({value}) * 1.003f;"),
    "one value in 1009 is another": last_store(
        lambda before, to, value: f"{before}{to}[at] = at % 1009 == 5 ? ({value}) + 1.0f : ({value});"),
    "the sign is turned": last_store(lambda before, to, value: f"{before}{to}[at] = -({value}) - 0.5f;"),
    "one value in 1009 is not written": last_store(lambda before, to, value: f"{before}if (at % 1009 != 5) {to}[at] = {value};"),
    "not a number where the value is above a half": last_store(
        lambda before, to, value: f"{before}{to}[at] = ({value}) > 0.5f ? nanf(\"\") : ({value});"),
    "does not compile": last_store(lambda before, to, value: f"{before}{to}[at] = not_declared({value});"),
    "writes far behind the output": last_store(lambda before, to, value: f"{before}{to}[at + (1ll << 40)] = {value};"),
    "nothing is launched": without_launches,
    "only the first 100 values": last_store(lambda before, to, value: f"{before}{to}[at] = at < 100 ? ({value}) : 0.25f;"),
    "infinity in one value": last_store(lambda before, to, value: f"{before}{to}[at] = at == 3 ? INFINITY : ({value});"),
    "two neighbours are exchanged and changed": last_store(
        lambda before, to, value: f"{before}{to}[at < 2 ? 1 - at : at] = ({value}) + 0.02f * (at < 2);"),
}


def tensors_mib(made: dict) -> float:
    """What all inputs and outputs take at the problem's own sizes. The scorer draws inputs on the CPU, five times."""
    sizes = made["sizes"]["train"][0]
    return sum(4 * math.prod(evaluate(extent, sizes) for extent in each["shape"]) for each in made["inputs"] + made["outputs"]) / 2**20


def write_candidates(folder: pathlib.Path, out: pathlib.Path, options: argparse.Namespace) -> list[dict]:
    problems = [each for each in json.loads((folder / "import.json").read_text())["problems"] if each["expressible"]]
    names = list(MISTAKES)
    candidates: list[dict] = []
    # Each problem once, and then, where that is not enough, those problems once more with a mistake.
    for number, problem in enumerate(problems + problems):
        again = number >= len(problems)
        if len(candidates) == options.right + options.mistakes:
            break
        task = folder / "tasks" / problem["task"]
        made = json.loads((task / "problem.json").read_text())
        if problem["key"] in options.without or tensors_mib(made) > options.largest_mib:
            continue
        done = subprocess.run([options.program, "program", str(task), "--write"], capture_output=True, text=True)
        if done.returncode != 0:
            continue
        kernel, mistake = done.stdout, None
        wrong = sum(each["mistake"] is not None for each in candidates)
        # Mistakes are spread over the problems: five candidates have two of them, for 60 right and 40 wrong ones.
        right = len(candidates) - wrong
        if again or right >= options.right or wrong * (options.right + options.mistakes) < options.mistakes * (len(candidates) + 1):
            mistake = names[wrong % len(names)]
            changed = MISTAKES[mistake](kernel)
            if changed == kernel:
                continue
            kernel = changed
        try:
            text = model_new(made, kernel, pathlib.Path(made["source"]).read_text())
        except Exception as error:  # a size that cannot be read off the inputs: said by `kernelbench export`, too
            print(f"{problem['key']}: {error}", file=sys.stderr)
            continue
        name = problem["task"] + ("-again" if again else "")
        (out / f"{name}.cu").write_text(kernel)
        (out / f"{name}.py").write_text(text)
        candidates.append({"name": name, "key": problem["key"], "task": str(task), "source": made["source"], "mistake": mistake,
                           "degenerate": problem.get("degenerate")})
    return candidates


def judge(candidates: list[dict], out: pathlib.Path, options: argparse.Namespace) -> dict[str, dict]:
    jobs = out / "jobs.jsonl"
    jobs.write_text("".join(json.dumps({"id": each["name"], "task": each["task"], "kernel_file": str(out / f"{each['name']}.cu")}) + "\n"
                            for each in candidates))
    subprocess.run([options.program, "judge", "--batch", str(jobs), "--out", str(out / "verdicts.jsonl"), "--backend", options.backend,
                    "--no-time", "--workers", str(options.workers), "--limit-seconds", "300"], check=False, stdout=subprocess.DEVNULL)
    verdicts = {}
    for line in (out / "verdicts.jsonl").read_text().splitlines():
        verdict = json.loads(line)
        verdicts[verdict["id"]] = verdict.get("verdict") or verdict
    return verdicts


def stock(candidates: list[dict], out: pathlib.Path, options: argparse.Namespace) -> dict[str, dict]:
    def one(each: dict) -> tuple[str, dict]:
        return each["name"], stock_result(options.stock, pathlib.Path(each["source"]), out / f"{each['name']}.py", timings=0,
                                          seconds=options.seconds)

    results: dict[str, dict] = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, result in pool.map(one, candidates):
            results[name] = result
            (out / "stock.json").write_text(json.dumps(results, indent=1))
    return results


def report(candidates: list[dict], verdicts: dict[str, dict], results: dict[str, dict], seconds: float) -> str:
    rows, agreed, judged = [], 0, 0
    for each in candidates:
        verdict, result = verdicts.get(each["name"], {}), results.get(each["name"], {})
        ours, theirs = verdict.get("status") == "correct", bool(result.get("correct"))
        judged += 1
        agreed += ours == theirs
        if ours != theirs or ours == (each["mistake"] is not None):
            why = result.get("problem") or "; ".join(f"{k}: {v}" for k, v in (result.get("metadata") or {}).items()
                                                     if k not in ("hardware", "device"))
            said = " ".join(str(verdict.get("summary", "")).split())
            rows.append(f"| {each['key']} | {each['mistake'] or 'none'} | {verdict.get('status', 'none')}: {said[:200]} | "
                        f"{'correct' if theirs else 'not correct'}: {' '.join(why.split())[:200].replace('|', '/')} |")
    wrong = sum(each["mistake"] is not None for each in candidates)
    lines = [f"{judged} kernels, {wrong} of them with a planted mistake; the judge and the scorer agree about {agreed} "
             f"({100 * agreed / max(judged, 1):.1f} %); {seconds:.0f} s", ""]
    if rows:
        lines += ["| problem | planted mistake | our judge | the scorer |", "| --- | --- | --- | --- |", *rows]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="what `kernelwright kernelbench import` made")
    parser.add_argument("--stock", type=pathlib.Path, required=True, help="a checkout of KernelBench")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--program", default=str(ROOT / "build" / "kernelwright"))
    parser.add_argument("--right", type=int, default=60)
    parser.add_argument("--mistakes", type=int, default=40)
    parser.add_argument("--largest-mib", type=float, default=1100, help="problems with larger tensors are left out (default: 1100)")
    parser.add_argument("--without", nargs="*", default=[], help="problems that are left out: L1-4 ...")
    parser.add_argument("--jobs", type=int, default=4, help="scorers at the same time")
    parser.add_argument("--workers", type=int, default=4, help="our judges at the same time")
    parser.add_argument("--backend", default="gpu")
    parser.add_argument("--seconds", type=float, default=300, help="time of one scorer")
    parser.add_argument("--only-write", action="store_true", help="write kernels and files, judge nothing")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    out = options.out.resolve()
    if not options.only_write:
        check_stock(options.stock)
    candidates = write_candidates(options.folder.resolve(), out, options)
    print(f"{len(candidates)} kernels in {out}", file=sys.stderr)
    if options.only_write:
        return 0
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as both:
        verdicts = both.submit(judge, candidates, out, options)
        results = both.submit(stock, candidates, out, options)
        print(report(candidates, verdicts.result(), results.result(), time.monotonic() - start))
    return 0


if __name__ == "__main__":
    sys.exit(main())
