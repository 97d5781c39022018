"""Sizes for a task that says none: small ones for the emulator, held-out ones, and more to trace at.

All are found by trying: a size is good when the module runs with it on fake tensors, so divisibility, groups and kernels that must fit are
the module's own business.
"""

from __future__ import annotations

from dataclasses import dataclass

from .problem import Problem, Shapes, multiply_adds, valid_shapes
from .size_expressions import Sizes

small_elements = 60_000  # all tensors of a small size together, where the fixed shapes allow it
tensor_elements = 2**31 - 1  # the program refuses larger ones
# Of a train size that is checked without a GPU: where an output depends on all that comes before it, as behind a batch norm, a judge
# executes all of it.
derived_multiply_adds = 2**29

_batches = (3, 2, 4, 5, 6, 8, 16)
_features = (5, 7, 6, 8, 9, 12, 10, 15, 16, 20, 24, 32, 36, 48, 49, 60, 64, 96, 128, 192, 256, 384, 512)
_extents = (9, 11, 13, 10, 12, 15, 16, 17, 19, 21, 24, 25, 29, 32, 33, 37, 48, 49, 64, 65, 96, 112, 128, 197, 224, 256)


@dataclass
class FoundSizes:
    names: list[str]  # those that vary; the others of the problem are constants
    small: list[Sizes]
    train: list[Sizes]
    holdout: list[Sizes]
    samples: list[Sizes]  # to trace at, small ones
    notes: list[str]


class SizeSearch:
    def __init__(self, problem: Problem, train_elements: int | None = None):
        self.problem = problem
        self.train_elements = train_elements  # of all tensors of a train size together; None: the problem's own sizes
        self.known: dict[tuple[tuple[str, int], ...], Shapes | None] = {}

    def shapes(self, sizes: Sizes) -> Shapes | None:
        key = tuple(sorted(sizes.items()))
        if key not in self.known:
            self.known[key] = valid_shapes(self.problem, sizes)
        return self.known[key]

    def tie(self) -> None:
        """Sizes that only work together, as the lengths of two vectors that are added, become one."""
        stuck = [name for name in self.problem.sizes if not self._moves((name,))]
        for name in stuck:
            partner = next((other for other in self.problem.sizes if other != name and self.problem.sizes[other] == self.problem.sizes[name]
                            and (other in stuck or other in self.problem.sizes) and not self._moves((other,))
                            and self._moves((other, name))), None)
            if partner is not None:
                self.problem.tie(name, partner)
                self.known.clear()

    def _moves(self, names: tuple[str, ...]) -> bool:
        value = self.problem.sizes[names[0]]
        return any(self.shapes({**self.problem.sizes, **dict.fromkeys(names, other)}) is not None for other in _others(value))

    def find(self, fixed: frozenset[str] = frozenset()) -> FoundSizes:
        original = dict(self.problem.sizes)
        kinds = {name: kind for name in original if name not in fixed and (kind := self._kind(name)) is not None}
        tiny = self._shrink(original, kinds)
        names = [name for name in original if name in kinds]
        notes: list[str] = []
        small = [tiny]
        larger = self._grow(tiny, names, kinds)
        if larger != tiny:
            small.append(larger)
        samples = [tiny, *([larger] if larger != tiny else [])]
        for name in names:
            samples += self._beside(tiny, name, kinds[name])
        train = self._train(original, names, notes)
        holdout = self._holdout(train, names, [*small, train])
        return FoundSizes(names, small, [train], holdout, _without_repeats(samples), notes)

    def _kind(self, name: str) -> str | None:
        """batch: the inputs alone have it, in front; extent: the inputs alone; feature: parameters too; None: it stays a constant."""
        original = self.problem.sizes
        before = self.shapes(original)
        if before is None:
            return None
        value = original[name]
        for other in _others(value):
            after = self.shapes({**original, name: other})
            if after is None or len(after.parameters) != len(before.parameters):
                continue
            changed_inputs = [at for at, (old, new) in enumerate(zip(before.inputs, after.inputs)) if old != new]
            if before.parameters != after.parameters:
                return "feature" if value >= 12 else None
            if not changed_inputs:
                return None
            first_only = all(before.inputs[at][1:] == after.inputs[at][1:] for at in changed_inputs)
            in_front = first_only and (len(before.inputs[changed_inputs[0]]) > 2 or "batch" in name)
            return "batch" if in_front else "extent" if value >= 4 else None
        return None

    def _shrink(self, original: Sizes, kinds: dict[str, str]) -> Sizes:
        """Each size by itself to the first small value that works with the others as they are by then; twice, since an extent may only
        become small once another has."""
        current = dict(original)
        # Extents before features: less is at stake when a feature is bound to an extent.
        order = sorted(kinds, key=lambda name: ("batch", "extent", "feature").index(kinds[name]))
        for _ in range(2):
            for name in order:
                for value in _candidates(kinds[name], original[name]):
                    if value == current[name]:
                        break
                    if self.shapes({**current, name: value}) is not None:
                        current[name] = value
                        break
        return current

    def _grow(self, tiny: Sizes, names: list[str], kinds: dict[str, str]) -> Sizes:
        """A second, larger one that differs in as many names as possible: first by little in all of them, then by more."""
        current = dict(tiny)
        for step in (lambda value: (value + 1, value + 2, value + 3, value * 2, value * 3),
                     lambda value: (129, 65, 47, 33, value + 8, value + 5, value * 3, value * 2)):
            for name in names:
                if kinds[name] == "batch" and current[name] != tiny[name]:
                    continue
                for other in step(tiny[name]):
                    if other <= current[name] or other > self.problem.sizes[name]:
                        continue
                    shapes = self.shapes({**current, name: other})
                    if shapes is not None and sum(shapes.elements()) <= small_elements:
                        current[name] = other
                        break
        return current

    def _beside(self, tiny: Sizes, name: str, kind: str) -> list[Sizes]:
        """Sizes that differ from the tiny one in this name alone: what a number of the graph does with it."""
        found = []
        value = tiny[name]
        for other in (value + 1, value + 2, value + 3, value + 5, value * 2, value * 3, value + 4, value * 4, value - 1, value * 6):
            if other > 0 and other != value and self.shapes({**tiny, name: other}) is not None:
                found.append({**tiny, name: other})
            if len(found) == (2 if kind == "batch" else 4):
                break
        return found

    def _train(self, original: Sizes, names: list[str], notes: list[str]) -> Sizes:
        """The problem's own sizes, smaller only where there would be too many elements: the largest size is halved until there are not."""
        train = dict(original)
        while True:
            shapes = self.shapes(train)
            too_large = shapes is not None and (max(shapes.elements()) > tensor_elements or
                                                sum(shapes.elements()) > (self.train_elements or 2**62) or
                                                self._too_much_work(train))
            if not too_large:
                break
            halves = [{**train, name: train[name] // 2} for name in sorted(names, key=lambda name: -train[name]) if train[name] >= 4]
            smaller = next((each for each in halves if self.shapes(each) is not None), None)
            if smaller is None:
                break
            train = smaller
        if train != original:
            changed = ", ".join(f"{name} is {train[name]} instead of {original[name]}" for name in names if train[name] != original[name])
            reason = "without a GPU no more can be checked" if self.train_elements else "a tensor would have over 2^31 - 1 elements"
            notes.append(f"the train size is smaller than the problem's: {changed}; {reason}")
        return train

    def _too_much_work(self, train: Sizes) -> bool:
        return self.train_elements is not None and multiply_adds(self.problem, train) > derived_multiply_adds

    def _holdout(self, train: Sizes, names: list[str], shown: list[Sizes]) -> list[Sizes]:
        current = dict(train)
        for name in names:
            value = train[name]
            for other in (value * 3 // 4 + 1 | 1, value * 3 // 4, value // 2, value - 1, value * 7 // 8):
                if 0 < other < value and self.shapes({**current, name: other}) is not None:
                    current[name] = other
                    break
        return [current] if current not in shown else []


def _others(value: int) -> list[int]:
    return [other for other in dict.fromkeys((value + 1, value * 2, value + 2, max(value // 2, 1), value * 3)) if other != value]


def _candidates(kind: str, original: int) -> list[int]:
    table = {"batch": _batches, "feature": _features, "extent": _extents}[kind]
    return [value for value in table if value < original]


def _without_repeats(samples: list[Sizes]) -> list[Sizes]:
    kept: list[Sizes] = []
    for sample in samples:
        if sample not in kept:
            kept.append(sample)
    return kept
