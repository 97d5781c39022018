"""Where the program `kernelwright` is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import ProgramNotFound

_HERE = Path(__file__).resolve().parent


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def find_program(program: str | os.PathLike[str] | None = None) -> Path:
    """The program as an absolute path.

    Looked for in this order: the argument, the environment's KERNELWRIGHT, beside this package (a wheel that carries it), the PATH, and
    build/ of the checkout that this package lies in. What is named explicitly must be there: nothing else is taken instead.
    """
    for named, origin in ((program, "the argument"), (os.environ.get("KERNELWRIGHT"), "the environment's KERNELWRIGHT")):
        if not named:
            continue
        text = os.fspath(named)
        found = shutil.which(text) if os.sep not in text else text
        if found is None or not _is_program(Path(found)):
            raise ProgramNotFound(f"{origin} names '{text}', which is not a program")
        return Path(found).absolute()
    carried = _HERE / "_program" / "bin" / "kernelwright"
    if _is_program(carried):
        return carried
    # A console script of that name would be a loop: only what is not a Python script counts.
    on_path = shutil.which("kernelwright")
    if on_path is not None and not _is_python_script(Path(on_path)):
        return Path(on_path).absolute()
    built = _HERE.parents[1] / "build" / "kernelwright"
    if _is_program(built):
        return built
    raise ProgramNotFound(
        "the program kernelwright was not found beside this package, on the PATH, nor in a checkout's build/; "
        "install it (`make install`), or name it: Service(program=...) or the environment's KERNELWRIGHT"
    )


def _is_python_script(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(200)
    return start.startswith(b"#!") and b"python" in start.split(b"\n", 1)[0]
