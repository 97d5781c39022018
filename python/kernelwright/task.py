"""What a kernel is to compute: a task of the suite by name, or one of your own in YAML (tasks/README.md describes the form)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Union
from urllib.parse import quote

from .errors import TaskError

_NAME = re.compile(r"^name:\s*[\"']?([A-Za-z0-9_]+)", re.MULTILINE)
_HAS_NAIVE = re.compile(r"^naive:", re.MULTILINE)
_MOST_BYTES = 256 << 10  # what the service takes


class Task:
    """`Task.named("softmax")` is a task of the suite, `Task.from_yaml(...)` one of your own. Everything that takes a task also takes a
    name, YAML text, or the path of a task's file or folder: `Task.of` tells them apart."""

    def __init__(self, name: str, yaml: str | None) -> None:
        self._name = name
        self._yaml = yaml
        bytes_ = 0 if yaml is None else len(yaml.encode(errors="replace"))
        if bytes_ > _MOST_BYTES:
            raise TaskError(f"the task {name} has {bytes_} bytes; at most {_MOST_BYTES} are allowed")

    @classmethod
    def named(cls, name: str) -> Task:
        """Of the suite that the service has; whether it is there is seen when it is asked for."""
        return cls(name, None)

    @classmethod
    def from_yaml(cls, text_or_path: str | os.PathLike[str]) -> Task:
        """From YAML text, a YAML file, or a folder with task.yaml and perhaps naive.cu."""
        if isinstance(text_or_path, str) and "\n" in text_or_path:
            found = _NAME.search(text_or_path)
            return cls(found[1] if found else "task", text_or_path)
        path = Path(text_or_path)
        file = path / "task.yaml" if path.is_dir() else path
        try:
            text = file.read_text(encoding="utf-8")
            naive = file.with_name("naive.cu")
            if file.name == "task.yaml" and naive.is_file() and not _HAS_NAIVE.search(text):
                text = text.rstrip("\n") + "\nnaive: |\n" + _indented(naive.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as problem:
            raise TaskError(f"the task {file} cannot be read: {problem}") from problem
        found = _NAME.search(text)
        if found:
            return cls(found[1], text)
        name = re.sub(r"\W", "_", file.parent.name if file.name == "task.yaml" else file.stem)
        return cls(name, f"name: {name}\n{text}")

    @classmethod
    def of(cls, task: TaskLike) -> Task:
        if isinstance(task, Task):
            return task
        if isinstance(task, os.PathLike) or "\n" in task or "/" in task or task.endswith((".yaml", ".yml")):
            return cls.from_yaml(task)
        return cls.named(task)

    @property
    def name(self) -> str:
        return self._name

    @property
    def yaml(self) -> str:
        """Its text; that of a named task comes from the default service."""
        if self._yaml is None:
            return str(self.details()["yaml"])
        return self._yaml

    @property
    def body(self) -> str | dict[str, str]:
        """As a request names it."""
        return self._name if self._yaml is None else {"yaml": self._yaml}

    def details(self, service: Any = None) -> dict[str, Any]:
        """Of a named task: inputs, outputs, sizes, the launcher's declaration, the naive kernel."""
        if self._yaml is not None:
            raise TaskError(f"{self._name} is not a task of the suite: its text is all that is known of it")
        from .service import default_service

        answer = (service or default_service()).request("GET", "/v1/tasks/" + quote(self._name, safe=""))
        assert isinstance(answer, dict)
        return answer

    def save(self, path: str | os.PathLike[str]) -> Path:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.yaml, encoding="utf-8")
        return file

    def __repr__(self) -> str:
        return f"Task({self._name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self.body == other.body

    def __hash__(self) -> int:
        return hash((self._name, self._yaml))


TaskLike = Union[Task, str, "os.PathLike[str]"]


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" if line else "\n" for line in text.replace("\t", "    ").splitlines())
