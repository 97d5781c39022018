#!/usr/bin/env python3
"""Does every file include only what its module may use? Reads the groups of src/CMakeLists.txt and the USES list of each
module, and fails on

- an include of a module that the USES list does not name (tests may also use modules of lower groups, and TEST_USES),
- a use of a higher group,
- modules that use each other in a circle,
- a name in USES that nothing in the module includes,
- an entry of ARCHITECTURE.md that says something else,
- two headers that define different types of one name: the linker would take the functions of one for both.

    scripts/check_includes.py [ROOT]      exit status 1, and a line for each problem
    scripts/check_includes.py --self-test plants wrong includes and a circle in copies and looks whether they are found"""
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_]+(?:/[a-z_]+)*)/[^/"]+"', re.M)


class Module:
    def __init__(self, name, folder, group, uses):
        self.name, self.folder, self.group, self.uses = name, folder, group, uses


def read_groups(root):
    text = (root / "src/CMakeLists.txt").read_text()
    groups = re.search(r"set\(groups ([^)]*)\)", text)[1].split()
    return {group: re.search(rf"set\({group} ([^)]*)\)", text)[1].split() for group in groups}


def read_modules(root):
    """By folder below src, as includes name it."""
    modules = {}
    for group, folders in read_groups(root).items():
        for folder in folders:
            path = group if folder == "." else f"{group}/{folder}"
            text = re.sub(r"#[^\n]*", "", (root / "src" / path / "CMakeLists.txt").read_text())
            declared = re.search(r"kw_module\((\w+)([^)]*)\)", text)
            name = declared[1] if declared else folder
            # What is no kw_module (the program, a library for tests) names what it links.
            lists = [declared[2].partition("TEST_USES")[0]] if declared else re.findall(r"target_link_libraries\([^)]*\)", text)
            uses = {use for part in lists for use in re.findall(r"kw::(\w+)", part)}
            modules[path] = Module(name, path, group, uses)
    return modules


def module_of(modules, folder):
    """The module that a folder belongs to: itself, or the nearest one above it."""
    while folder and folder not in modules:
        folder = folder.rpartition("/")[0]
    return modules.get(folder)


def find_cycle(modules):
    by_name = {module.name: module for module in modules.values()}
    state = {}

    def visit(name, path):
        state[name] = "open"
        for use in sorted(by_name[name].uses & by_name.keys()):
            if state.get(use) == "open":
                return path[path.index(use):] + [use] if use in path else [name, use]
            if use not in state:
                found = visit(use, path + [use])
                if found:
                    return found
        state[name] = "done"
        return None

    for name in by_name:
        if name not in state:
            found = visit(name, [name])
            if found:
                return found
    return None


def uses_text(modules, module):
    return ", ".join(other.folder for other in modules.values() if other.name in module.uses) or "nothing"


def check_page(root, modules):
    """ARCHITECTURE.md has an entry for each module, which ends with what it uses."""
    page = root / "ARCHITECTURE.md"
    if not page.exists():
        return []
    text = re.sub(r"\n  +", " ", page.read_text())
    problems = []
    for module in modules.values():
        entry = re.search(rf"^- `src/{module.folder}`: .* Uses: (.*)\.$", text, re.M)
        wanted = "everything" if module.name == "cli" else uses_text(modules, module)
        if not entry:
            problems.append(f"ARCHITECTURE.md has no entry '- `src/{module.folder}`: ... Uses: ....'")
        elif entry[1] != wanted:
            problems.append(f"ARCHITECTURE.md says that src/{module.folder} uses {entry[1]}; it uses {wanted}")
    return problems


TYPE = re.compile(r"^(?:struct|class)\s+(?:alignas\(\d+\)\s+)?(\w+)(?!\w|::)[^;\n]*\{", re.M)
# Never linked together: a shared library of its own that shows nothing of itself, and helpers of different test programs.
APART = ("src/model/gpu/torch/", "src/app/evaluate/scripted_decoder.h")


def check_type_names(root):
    seen, problems = {}, []
    for file in sorted((root / "src").rglob("*.h")):
        path = str(file.relative_to(root))
        if path.startswith(APART):
            continue
        text = re.sub(r"^namespace \{.*?^\}  // namespace$", "", file.read_text(errors="replace"), flags=re.M | re.S)
        space = re.search(r"^namespace (kw[\w:]*)", text, re.M)
        for match in TYPE.finditer(text):
            name = f"{space[1] if space else ''}::{match[1]}"
            if seen.setdefault(name, path) != path:
                problems.append(f"{path}: {name} is also defined in {seen[name]}")
    return problems


def check(root):
    modules = read_modules(root)
    order = list(read_groups(root))
    own = {module.name for module in modules.values()}
    problems = []
    for module in modules.values():
        for use in module.uses & own:
            used = next(other for other in modules.values() if other.name == use)
            if order.index(used.group) > order.index(module.group):
                problems.append(f"src/{module.folder}: the group {module.group} may not use {use} of the higher group {used.group}")
        included = set()
        for file in sorted((root / "src" / module.folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".inc"):
                continue
            if module_of(modules, str(file.parent.relative_to(root / "src"))) is not module:
                continue
            is_test = file.stem.endswith(("_test", "_fuzz")) or file.stem.startswith("test_")
            for match in INCLUDE.finditer(file.read_text(errors="replace")):
                other = module_of(modules, match[1])
                if other is None or other is module:
                    continue
                included.add(other.name)
                if other.name in module.uses:
                    continue
                line = file.read_text(errors="replace")[: match.start()].count("\n") + 1
                where = f"{file.relative_to(root)}:{line}"
                if order.index(other.group) > order.index(module.group):
                    problems.append(f"{where}: includes {other.folder} of a higher group")
                elif not is_test:
                    problems.append(f"{where}: includes {other.folder}, but {module.name} does not name kw::{other.name} in USES")
        unused = (module.uses & own) - included
        if unused and module.name != "cli":
            problems.append(f"src/{module.folder}: USES names {', '.join(sorted(unused))}, which it does not include")
    problems += check_page(root, modules)
    problems += check_type_names(root)
    cycle = find_cycle(modules)
    if cycle:
        problems.append("a cycle: " + " -> ".join(cycle))
    return problems


def self_test(root):
    """Plants one mistake at a time in a copy of src; each must be found."""
    plants = [
        ("src/kernel/task/task.cpp", '#include "kernel/judge/judge.h"\n', "does not name kw::judge"),
        ("src/base/file.cpp", '#include "kernel/task/task.h"\n', "of a higher group"),
        ("src/model/weights/safetensors.h", '#include "app/cli/command.h"\n', "of a higher group"),
        ("src/kernel/task/CMakeLists.txt", "kw_module(task USES kw::judge kw::base kw::yaml)\n", "a cycle: "),
        ("src/agents/reward/reward.h", "namespace kw {\nstruct Task {\n};\n}\n", "kw::Task is also defined in"),
    ]
    missed = 0
    for path, text, expected in plants:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            shutil.copytree(root / "src", copy / "src")
            target = copy / path
            target.write_text(text if path.endswith(".txt") else text + target.read_text())
            if not any(expected in problem for problem in check(copy)):
                print(f"the mistake planted in {path} was not found", file=sys.stderr)
                missed += 1
    print(f"{len(plants) - missed} of {len(plants)} planted mistakes were found")
    return missed


def main():
    if "--self-test" in sys.argv:
        return 1 if self_test(ROOT) else 0
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"includes of {len(read_modules(root))} modules are as their USES lists allow")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
