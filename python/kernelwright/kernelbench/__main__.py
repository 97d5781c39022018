"""python -m kernelwright.kernelbench import|run|export|score: see the package's text."""

from __future__ import annotations

import argparse
import pathlib
import sys

from ..errors import KernelwrightError
from ..torch_task.limited_process import default_bytes, default_seconds, derived_elements
from .bench_folder import levels_of


def _import(options: argparse.Namespace) -> int:
    from .importing import import_folder, import_table

    report = import_folder(options.folder, options.out, levels_of(options.levels), check=options.check, again=options.again,
                           seconds=options.seconds, memory_bytes=int(options.memory * 2**30),
                           train_elements=derived_elements if options.derived else None)
    print(import_table(report))
    return 0 if all(each["expressible"] for each in report["problems"]) else 1


def _run(options: argparse.Namespace) -> int:
    from .running import run_folder

    return run_folder(options.folder, levels_of(options.levels), samples=options.samples, turns=options.turns, model=options.model,
                      url=options.url, limit=options.limit, even_if_learned=options.even_if_learned)


def _export(options: argparse.Namespace) -> int:
    from .exporting import export_folder

    return export_folder(options.folder, levels_of(options.levels))


def _score(options: argparse.Namespace) -> int:
    from .scoring import score_folder

    return score_folder(options.folder, levels_of(options.levels), stock=options.stock, url=options.url,
                        even_if_learned=options.even_if_learned)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright kernelbench", description="KernelBench: import, run, export, score")
    commands = parser.add_subparsers(dest="command", required=True)

    made = commands.add_parser("import", help="every problem of a folder becomes a task")
    made.add_argument("folder", metavar="DIR", type=pathlib.Path, help="a checkout of KernelBench, or a folder with level1/1_Name.py ...")
    made.add_argument("--out", type=pathlib.Path, default=pathlib.Path("kernelbench"),
                      help="folder for tasks and report (default: kernelbench)")
    made.add_argument("--levels", help="such as 1,2 (default: all)")
    made.add_argument("--check", action="store_true", help="compare every reference, as the program runs it, with PyTorch's own module")
    made.add_argument("--again", action="store_true", help="import again what was imported before")
    made.add_argument("--derived", action="store_true", help="train sizes that a judge without a GPU can check: at most 128 MiB")
    made.add_argument("--seconds", type=float, default=default_seconds, help="CPU time that a problem's file may take")
    made.add_argument("--memory", type=float, default=default_bytes / 2**30, metavar="GIB", help="memory that a problem's file may take")
    made.set_defaults(work=_import)

    run = commands.add_parser("run", help="agents write kernels for imported problems; goes on where it was interrupted")
    run.add_argument("folder", metavar="OUT", type=pathlib.Path, help="what import wrote")
    run.add_argument("--levels", help="such as 1,2 (default: all)")
    run.add_argument("--samples", type=int, default=4, help="kernels a turn (default: 4)")
    run.add_argument("--turns", type=int, default=3, help="turns a problem (default: 3)")
    run.add_argument("--model", help="which agents: tiny, smollm2, a folder, URL#NAME; of --url, one of its sets")
    run.add_argument("--url", help="a service elsewhere (default: one of its own)")
    run.add_argument("--limit", type=int, help="at most so many problems")
    run.add_argument("--even-if-learned", action="store_true", help="also agents that learned from KernelBench's tasks; the tables say so")
    run.set_defaults(work=_run)

    export = commands.add_parser("export", help="each right kernel as a ModelNew file that the stock scorer accepts")
    export.add_argument("folder", metavar="OUT", type=pathlib.Path)
    export.add_argument("--levels")
    export.set_defaults(work=_export)

    score = commands.add_parser("score", help="what was solved, and how fast: tables, and one page with every kernel")
    score.add_argument("folder", metavar="OUT", type=pathlib.Path)
    score.add_argument("--levels")
    score.add_argument("--stock", type=pathlib.Path, metavar="CHECKOUT",
                       help="also run KernelBench's own scorer from this checkout (needs a GPU)")
    score.add_argument("--url", help="a service elsewhere (default: one of its own)")
    score.add_argument("--even-if-learned", action="store_true", help="also kernels of agents that learned from KernelBench's tasks")
    score.set_defaults(work=_score)

    options = parser.parse_args(words)
    try:
        return options.work(options)
    except KernelwrightError as error:
        print(f"kernelwright kernelbench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kernelwright kernelbench: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
