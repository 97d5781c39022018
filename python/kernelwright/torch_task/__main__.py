"""python -m kernelwright.torch_task import FILE.py: a PyTorch module in a file becomes a task."""

from __future__ import annotations

import argparse
import pathlib
import sys

from ..errors import KernelwrightError
from .limited_process import default_bytes, default_seconds, derived_elements


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright task", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    imported = commands.add_parser("import", help="FILE.py holds a class Model, get_inputs() and get_init_inputs()")
    imported.add_argument("file", metavar="FILE.py", type=pathlib.Path)
    imported.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder that gets NAME/task.yaml (default: here)")
    imported.add_argument("--name", help="of the task (default: the file's)")
    imported.add_argument("--print", action="store_true", help="print the YAML and write nothing")
    imported.add_argument("--dropout", choices=("identity", "refuse"), default="identity",
                          help="dropout in training mode draws random numbers: take its inference form (the default), or refuse the file")
    imported.add_argument("--derived", action="store_true", help="train sizes that a judge without a GPU can check: at most 128 MiB")
    imported.add_argument("--seconds", type=float, default=default_seconds, help="CPU time that the file may take")
    imported.add_argument("--memory", type=float, default=default_bytes / 2**30, metavar="GIB", help="memory that the file may take")
    options = parser.parse_args(words)
    try:
        from .import_file import import_file, write_task

        made = import_file(options.file, name=options.name, dropout=options.dropout, seconds=options.seconds,
                           memory_bytes=int(options.memory * 2**30),
                           train_elements=derived_elements if options.derived else None)
    except KernelwrightError as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 2
    for note in made["notes"]:
        print(f"{options.file}: note: {note}", file=sys.stderr)
    if options.print:
        sys.stdout.write(made["yaml"])
    else:
        print(write_task(made, options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
