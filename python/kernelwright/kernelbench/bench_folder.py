"""The folder that `import` makes and the other commands work in.

    tasks/NAME/task.yaml, problem.json    an imported problem
    import.json                           what was imported, what was not, and why
    kernels/NAME.json                     every sample of a run, and the best kernel
    exports/level1/1_Name.py              ModelNew files
    score.json, score.html                tables
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from dataclasses import dataclass
from typing import Any

from ..errors import KernelwrightError


# The family of the tasks. `kernelwright train` notes it in the agents that learn from such a task, and they are not scored here.
benchmark = "kernelbench"


@dataclass(frozen=True)
class ProblemFile:
    level: int
    number: int
    path: pathlib.Path

    @property
    def title(self) -> str:
        return self.path.stem

    @property
    def key(self) -> str:
        return f"L{self.level}-{self.number}"

    @property
    def task_name(self) -> str:
        slug = re.sub(r"\W+", "_", re.sub(r"^\d+_?", "", self.path.stem)).strip("_").lower()
        return f"kb{self.level}_{self.number}_{slug}"[:60].rstrip("_")


def problem_files(folder: pathlib.Path, levels: set[int] | None) -> list[ProblemFile]:
    """level1/*.py and so on, in the folder or in its folder KernelBench."""
    for root in (folder, folder / "KernelBench"):
        found = []
        for path in sorted(root.glob("level*/*.py")):
            level = re.fullmatch(r"level(\d+)", path.parent.name)
            number = re.match(r"(\d+)_", path.name)
            if level and number and (levels is None or int(level[1]) in levels):
                found.append(ProblemFile(int(level[1]), int(number[1]), path))
        if found:
            return sorted(found, key=lambda each: (each.level, each.number))
    raise KernelwrightError(f"{folder} has no folder level1, level2 ... with problems such as 1_Name.py")


def levels_of(text: str | None) -> set[int] | None:
    if not text:
        return None
    try:
        return {int(part) for part in text.split(",")}
    except ValueError as error:
        raise KernelwrightError(f"--levels takes numbers such as 1,2, not {text!r}") from error


def read_json(path: pathlib.Path, what: str) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise KernelwrightError(f"{what} cannot be read: {error}") from error


def write_json(path: pathlib.Path, value: Any) -> None:
    """The old content or the new, never a part: a run may be ended at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.part")
    temporary.write_text(json.dumps(value, indent=1) + "\n")
    temporary.replace(path)


def imported_problems(folder: pathlib.Path, levels: set[int] | None = None) -> list[dict[str, Any]]:
    report = read_json(folder / "import.json", f"{folder}/import.json (`kernelwright kernelbench import` writes it)")
    problems = report.get("problems") if isinstance(report, dict) else None
    if not isinstance(problems, list) or not all(isinstance(each, dict) and {"key", "level", "task", "expressible"} <= each.keys()
                                                 for each in problems):
        raise KernelwrightError(f"{folder}/import.json is not what `kernelwright kernelbench import` writes")
    return [each for each in problems if levels is None or each["level"] in levels]
