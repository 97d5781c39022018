"""KernelBench: its problems as tasks, agents on them, their kernels in its form, and two tables of scores.

    kernelwright kernelbench import KernelBench/ --out kb     every problem of a folder becomes a task
    kernelwright kernelbench run kb --levels 1,2              agents write kernels; goes on where it was interrupted
    kernelwright kernelbench export kb                        each kernel as a ModelNew file for the stock scorer
    kernelwright kernelbench score kb                         what was solved, and how fast; one page with every kernel

Nothing of KernelBench is part of this package: the folder is the user's own.
"""
