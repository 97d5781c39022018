"""Tasks from PyTorch: a module, a function, or a file in KernelBench's form.

    task = kw.task_from(torch.nn.Linear(64, 128).eval(), (torch.rand(16, 64),))

`python -m kernelwright.torch_task import FILE.py` does it from the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .from_module import task_from

__all__ = ["task_from"]


def __getattr__(name: str) -> Any:
    """torch is imported when it is needed: `--help` works without it."""
    if name != "task_from":
        raise AttributeError(name)
    from .from_module import task_from

    return task_from
