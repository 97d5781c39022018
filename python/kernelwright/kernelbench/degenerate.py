"""Problems of KernelBench (commit 423217d) that a wrong kernel can pass, or that any kernel can: they are marked in every table, and never
counted as solved by a kernel that writes zeros.

Read from the files, from KernelBench's issue 165, from its branch fix-level1-hacks and from robust-kbench's numeric filters.
"""

from __future__ import annotations

zero_output = {
    (2, 80): "the output is always zero: a maximum over one column, minus its own mean",
    (2, 23): "the output is always zero: the mean of a group norm over everything but the batch",
    (2, 83): "the output is always zero: min(x, 0), then clamped to at least 0",
}

zero_passes = {
    (1, 23): "zeros pass the scorer's tolerance: a softmax over many columns",
    (1, 37): "zeros pass the scorer's tolerance: a norm over everything",
    (1, 39): "zeros pass a tolerance of 1e-2",
    (1, 53): "zeros pass a tolerance of 1e-2: the minimum of many uniform numbers",
}

constant_output = {
    (1, 94): "a mean over so many numbers is nearly a constant",
    (1, 96): "a mean over so many numbers is nearly a constant",
    (1, 98): "a mean over so many numbers is nearly a constant",
    (1, 100): "a mean over so many numbers is nearly a constant",
}

weak_output = {(level, number): "the values hardly vary (robust-kbench's filters on range, deviation, axes or input impact)"
               for level, numbers in ((1, (38,)), (2, (9, 13, 36, 44, 48, 49, 84, 88, 89, 91, 96))) for number in numbers}

all_degenerate = {**weak_output, **constant_output, **zero_passes, **zero_output}


def degenerate_reason(level: int, number: int) -> str | None:
    return all_degenerate.get((level, number))
