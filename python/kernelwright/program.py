"""Where the program `kernelwright` is."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

from .errors import ProgramNotFound

_HERE = Path(__file__).resolve().parent
_CARRIED = _HERE / "_program"  # in a wheel that carries the program (`make python-wheel`)


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
    carried = _CARRIED / "bin" / "kernelwright"
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


def environment_for(program: Path) -> dict[str, str]:
    """What the program is started with. One that a wheel carries loads libtorch and NVRTC from this Python's packages, where these have
    the versions that it was built with; others would crash it."""
    environment = dict(os.environ)
    needs = _CARRIED / "needs.txt"
    if _CARRIED not in program.parents or not needs.is_file():
        return environment
    pinned = dict(line.split("==") for line in needs.read_text().split() if "==" in line)
    folders: list[str] = []
    if _installed("torch") == pinned.get("torch"):
        folders += _library_folders("torch", ["lib"])
    if _installed("nvidia-cuda-nvrtc") == pinned.get("nvidia-cuda-nvrtc"):
        folders += _library_folders("nvidia", ["cu13/lib", "cudnn/lib", "cusparselt/lib", "nccl/lib", "nvshmem/lib"])
    if folders:
        environment["LD_LIBRARY_PATH"] = ":".join([*folders, *filter(None, [environment.get("LD_LIBRARY_PATH")])])
    return environment


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def _library_folders(package: str, below: list[str]) -> list[str]:
    """Without importing the package."""
    found = importlib.util.find_spec(package)
    roots = [Path(root) for root in (found.submodule_search_locations or [])] if found else []
    return [str(root / folder) for root in roots for folder in below if (root / folder).is_dir()]
