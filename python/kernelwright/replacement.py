"""Swapping a submodule for an exported kernel, and checking that the numbers stay.

    kw.replace(model, "encoder.norm", "layer_norm.py", example_inputs=(x,))

`layer_norm.py` is a file of `kernelwright export --as torch`. Each input of the kernel that has the name of a parameter or buffer of the
old submodule (with `_` for `.`) gets that one; the others get the arguments of the call, in order.
"""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from dataclasses import dataclass
from typing import Any, Callable, Sequence

from .errors import KernelwrightError

# Twice the rounding of the type, for sums in another order; a kernel that is judged right is far below.
_RELATIVE = {"torch.float64": 1e-9, "torch.float32": 1e-4, "torch.float16": 1e-2, "torch.bfloat16": 3e-2}


@dataclass
class Replaced:
    """What kw.replace did. `.undo()` puts the old submodule back."""

    name: str
    checked: bool
    largest_error: float  # relative to the largest value of the output; 0 where it was not checked
    _parent: Any
    _child: str
    _old: Any

    def undo(self) -> None:
        setattr(self._parent, self._child, self._old)


def _load(exported: Any) -> tuple[Callable[..., Any], Sequence[str] | None, bool]:
    """The operator, the names of its inputs, and whether it is a CUDA kernel."""
    if isinstance(exported, (str, pathlib.Path)):
        path = pathlib.Path(exported)
        if not path.is_file():
            raise KernelwrightError(f"{path} is not there; make it with kernelwright export --as torch")
        specification = importlib.util.spec_from_file_location(f"kernelwright_exported_{path.stem}", path)
        if specification is None or specification.loader is None:
            raise KernelwrightError(f"{path} is not a Python file")
        exported = importlib.util.module_from_spec(specification)
        sys.modules[specification.name] = exported  # torch.compile looks functions up by their module
        specification.loader.exec_module(exported)
    if hasattr(exported, "OPERATOR") and hasattr(exported, "INPUTS"):
        return getattr(exported, exported.NAME), [name for name, _, _ in exported.INPUTS], True
    if callable(exported):
        return exported, None, False
    raise KernelwrightError("exported must be a file of kernelwright export --as torch, its module, or a function")


def _module_class() -> type:
    import torch

    class ExportedModule(torch.nn.Module):
        """Calls an exported kernel with the call's arguments and the old submodule's parameters."""

        def __init__(self, operator: Callable[..., Any], names: Sequence[str], old: Any):
            super().__init__()
            self.operator = operator
            self.old = old  # its parameters stay in the model, under one more name in between
            owned = {name.replace(".", "_"): name for name, _ in (*old.named_parameters(), *old.named_buffers())}
            self.places = [owned.get(name) for name in names]

        def forward(self, *arguments: Any) -> Any:
            given = iter(arguments)
            values = []
            for place in self.places:
                if place is None:
                    values.append(next(given, None))
                    if values[-1] is None:
                        raise TypeError("the exported kernel takes more arguments than the call has")
                else:
                    owner, _, last = place.rpartition(".")
                    values.append(getattr(self.old.get_submodule(owner), last))
            if next(given, None) is not None:
                raise TypeError("the call has more arguments than the exported kernel takes")
            return self.operator(*values)

    return ExportedModule


def _compare(old: Any, new: Any) -> float:
    """The largest difference relative to the largest value; raises where it is too large."""
    import torch

    first = old if isinstance(old, (tuple, list)) else (old,)
    second = new if isinstance(new, (tuple, list)) else (new,)
    if len(first) != len(second):
        raise KernelwrightError(f"the submodule has {len(first)} outputs, the exported kernel {len(second)}")
    worst = 0.0
    for a, b in zip(first, second):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise KernelwrightError(f"the submodule gives {tuple(a.shape)} {a.dtype}, the exported kernel {tuple(b.shape)} {b.dtype}")
        if not a.is_floating_point():
            if not torch.equal(a, b):
                raise KernelwrightError("the exported kernel gives other whole numbers than the submodule")
            continue
        if not torch.equal(torch.isfinite(a), torch.isfinite(b)):
            raise KernelwrightError("the exported kernel gives infinities or NaN in other places than the submodule")
        finite = torch.isfinite(a)
        if not bool(finite.any()):
            continue
        scale = max(float(a[finite].double().abs().max()), 1e-30)
        error = float((a[finite].double() - b[finite].double()).abs().max()) / scale
        allowed = _RELATIVE.get(str(a.dtype), 1e-4)
        if error > allowed:
            raise KernelwrightError(f"the exported kernel differs from the submodule by {error:.2g} of the largest value; "
                                    f"{allowed:.2g} is allowed for {a.dtype}")
        worst = max(worst, error)
    return worst


def replace(module: Any, name: str, exported: Any, *, example_inputs: Sequence[Any] | None = None, inputs: Sequence[str] | None = None,
            check: bool = True) -> Replaced:
    """Swaps `module`'s submodule `name` for an exported kernel and checks the numbers with `example_inputs` of that submodule.

    `exported`: a file of `kernelwright export --as torch`, its imported module, or a function with `inputs`, the names of its inputs.
    A kernel needs a GPU to be checked: without one this says so; check=False swaps without looking. Where the numbers differ, the old
    submodule stays and KernelwrightError says by how much.
    """
    import torch

    operator, names, needs_gpu = _load(exported)
    names = list(inputs) if inputs is not None else names
    if names is None:
        raise KernelwrightError("a function needs inputs=, the names of its inputs in order")
    parent_name, _, child = name.rpartition(".")
    try:
        parent = module.get_submodule(parent_name)
        old = module.get_submodule(name) if name else None
    except AttributeError:
        old = None
    if old is None:
        raise KernelwrightError(f"the module has no submodule `{name}`")
    new = _module_class()(operator, names, old)
    new.train(old.training)
    error = 0.0
    if check:
        if needs_gpu and not torch.cuda.is_available():
            raise KernelwrightError("there is no GPU here, so the kernel's numbers cannot be checked: run this on a machine with one, or "
                                    "pass check=False to swap without looking")
        if example_inputs is None:
            raise KernelwrightError("give example_inputs=, the arguments of a call of the submodule, to check the numbers with")
        with torch.no_grad():
            error = _compare(old(*example_inputs), new(*example_inputs))
    setattr(parent, child, new)
    return Replaced(name, check, error, parent, child, old)
