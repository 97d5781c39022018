"""One file in KernelBench's form: its task, and what has to be known to compare, run and export it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from .limited_process import default_bytes, default_seconds, run_limited


def import_file(file: pathlib.Path, *, name: str | None = None, dropout: str = "identity", seconds: float = default_seconds,
                memory_bytes: int = default_bytes, train_elements: int | None = None, family: str = "imported") -> dict[str, Any]:
    """Plain data: name, yaml, inputs (how each comes from the module), sizes, constants, notes. Raises TaskError."""
    return run_limited(lambda: _made(file, name, dropout, train_elements, family), seconds, memory_bytes)


def _made(file: pathlib.Path, name: str | None, dropout: str, train_elements: int | None, family: str) -> dict[str, Any]:
    from .file_problem import FileProblem
    from .make_task import check_sizes, make_task
    from .quiet import quiet

    with quiet():
        problem = FileProblem(file, name, family)
        made = make_task(problem, dropout, train_elements=train_elements)
    check_sizes(made)
    return {
        "name": made.name, "yaml": made.yaml, "source": str(file), "dropout": dropout, "derived_shapes": train_elements is not None,
        "inputs": [{"name": each.name, "kind": each.kind, "path": each.path, "shape": each.shape, "dtype": each.dtype}
                   for each in made.inputs],
        "outputs": [{"name": own, "shape": shape, "dtype": dtype, "scalar": own in made.scalar_outputs}
                    for own, shape, dtype in made.outputs],
        "sizes": made.sizes, "constants": made.constants, "tied": dict(problem.tied), "notes": made.notes,
    }


def write_task(made: dict[str, Any], folder: pathlib.Path) -> pathlib.Path:
    """FOLDER/NAME/task.yaml, and beside it problem.json."""
    place = folder / made["name"]
    place.mkdir(parents=True, exist_ok=True)
    (place / "task.yaml").write_text(made["yaml"])
    kept = {key: value for key, value in made.items() if key != "yaml"}
    (place / "problem.json").write_text(json.dumps(kept, indent=1) + "\n")
    return place / "task.yaml"
