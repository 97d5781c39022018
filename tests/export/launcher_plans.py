#!/usr/bin/env python3
"""The translated launcher of an exported file does what the interpreter plans: every kernel of the suite, examples/, public_styles and
tests/launchers, at the task's sizes and at made-up ones: kernels, grids, blocks, shared memory, bytes of arguments, scratch."""

import pathlib
import random
import sys
import tempfile

from recorded import ROOT, load_without_framework, planned_steps, recorded_steps, run

MADE_UP = 4  # sizes for each kernel besides the task's own


def kernels():
    for task in sorted((ROOT / "tasks").iterdir()):
        for name in ("naive.cu", "optimised.cu"):
            if (task / name).exists():
                yield task, task / name
    for path in sorted([*(ROOT / "tests" / "launchers").glob("*.cu"), *(ROOT / "tests" / "public_styles").glob("*.cu")]):
        first = path.read_text().split("\n", 1)[0]
        if first.startswith("// task: "):
            yield ROOT / "tasks" / first[9:].strip(), path
    for path in sorted((ROOT / "examples").glob("softmax*.cu")):
        yield ROOT / "tasks" / "softmax", path


def made_up(listed, dice):
    """Sizes in between and beyond the task's; a kernel need not take them, but both must say the same."""
    for _ in range(MADE_UP):
        yield {name: dice.choice([dice.randint(1, 40), dice.randint(1, 5000), 2 ** dice.randint(0, 14),
                                  dice.choice(listed)[name]]) for name in listed[0]}


def compare(module, task, kernel, sizes, scalars):
    """None, or what differs."""
    text = ",".join(f"{name}={value}" for name, value in sizes.items())
    status, answer = run("plan", task, kernel, "--size", text)
    if status == 2:
        return None  # the task itself does not take these sizes
    try:
        found = recorded_steps(module, sizes, scalars)
    except module.LaunchError as error:
        return None if status else f"{text}: the export refuses ({error}), the interpreter does not"
    if status and "over the limit of" in str(answer):
        return None  # of the judge, for scratch memory and steps; an export has none
    if status:
        return f"{text}: the interpreter refuses ({answer}), the export does not"
    wanted = planned_steps(answer["plans"][0]["plan"])
    if found == wanted:
        return None
    for mine, theirs in zip(found, wanted):
        if mine != theirs:
            return f"{text}:\n  export      {mine}\n  interpreter {theirs}"
    return f"{text}: {len(found)} steps, the interpreter has {len(wanted)}"


# What the interpreter knows and the translation does not yet: global variables that a launcher sets, constants that are types. Their export
# must be refused with the line.
REFUSED = {"benchmark_program.cu", "integral_constant_lambda.cu"}


def main():
    dice = random.Random(7)
    compared, problems, untranslated = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        for task, kernel in kernels():
            if len(sys.argv) > 1 and sys.argv[1] not in str(kernel):
                continue
            path = pathlib.Path(folder) / "exported.py"
            status, answer = run("export", kernel, "--task", task, "--as", "torch", "-o", path)
            if kernel.name in REFUSED:
                if not status or not answer.get("error", {}).get("line"):
                    problems.append(f"{kernel.relative_to(ROOT)}: {answer}, not a refusal with its line")
                continue
            if status:
                untranslated.append(f"{kernel}: {answer}")
                continue
            module = load_without_framework(path)
            scalars = tuple(1 for _, _, shape in module.INPUTS if shape is None)
            _, answer = run("tasks", "show", task)
            listed = [sizes for group in answer["sizes"].values() for sizes in group]
            for sizes in [*listed, *made_up(listed, dice)]:
                problem = compare(module, task, kernel, sizes, scalars)
                compared += 1
                if problem:
                    problems.append(f"{kernel.relative_to(ROOT)} at {problem}")
                    break
    for line in (*untranslated, *problems):
        print(line)
    print(f"{compared} plans compared, {len(problems)} kernels differ, {len(untranslated)} are not translated")
    sys.exit(1 if problems or untranslated or compared == 0 else 0)


if __name__ == "__main__":
    main()
