#!/usr/bin/env python3
"""Are the pages that people read true and readable? Fails on

- a line of more than 140 characters in a page: docs/, and README.md and the like everywhere (not in records of benchmarks),
- a link from one of these pages to a file that is not there,
- with --program: a command line in those pages, in scripts, presets and the Makefile, or in a string of the sources, that names
  a subcommand or an option which the program's --help does not have, or (`make ...`) a target which the Makefile does not have,
- with --program: an option (but of `train`) that --help lists without a word about it.

The program's name followed by a small letter is taken for a command, so prose says Kernelwright.

    scripts/check_pages.py [--program build/kernelwright]
    scripts/check_pages.py --self-test     looks whether planted mistakes are found"""
import argparse
import json
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST = 140
PAGES = ("*.md", "docs/*.md", "tasks/*.md", "prompts/*.md", "weights/*.md", "bench/*/README.md", "tests/**/README.md")
OTHERS = ("Makefile", "scripts/*.sh", "scripts/*.py", "presets/**/*.yaml")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# After `--program` or a script it is another program's argument; `import kernelwright as kw` is the Python package.
COMMAND = re.compile(r"(?P<before>(?:--program|\.py) +)?(?:[^\s`]*/)?\bkernelwright +(?=[a-z-])(?!as kw\b|import \w)"
                     r"(?P<words>(?:(?!kernelwright |\.py ).)*)")
MAKE = re.compile(r"(?P<tick>`|^)make ([a-z][a-z -]*[a-z])(?=`|$|\s*#| +[A-Z]+=)")
END_OF_COMMAND = re.compile(r"`|\s[|>&;#]|;\s|&&|\s{2,}|\)\s|\\n|…|\.\.\.")


def files(patterns):
    return [path for pattern in patterns for path in sorted(ROOT.glob(pattern)) if path != pathlib.Path(__file__)]


def check_lines(name, text):
    return [f"{name}:{number}: {len(line)} characters, at most {LONGEST}"
            for number, line in enumerate(text.split("\n"), 1) if len(line) > LONGEST]


def check_links(name, text, folder):
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if "://" not in target and not (folder / target).exists():
                problems.append(f"{name}:{number}: links to {target}, which is not there")
    return problems


def options_without_words(help_text, column=32):
    """Words about an option begin in that column, behind it or in the next line."""
    lines = help_text.split("\n")
    for place, line in enumerate(lines):
        option = re.match(r"  (?:-\w,)?(--[\w-]+)", line)
        behind = line[column - 1:column] == " " and line[column:].strip()
        below = place + 1 < len(lines) and lines[place + 1].startswith(" " * column)
        if option and not behind and not below:
            yield option[1]


class Help:
    """What the program says about its subcommands and options; a subcommand is asked once."""

    def __init__(self, program):
        self.program, self.known, self.silent = program, {}, []

    def of(self, path):
        if path not in self.known:
            text = subprocess.run([self.program, *path, "--help"], capture_output=True, text=True, check=True).stdout
            body = re.split(r"\n(?:Examples?|MODEL is)\b", text)[0]
            subcommands = re.findall(r"^  ([a-z][\w-]*)\s", body.partition("\nSubcommands:\n")[2], re.M)
            by_python = text.startswith("usage: ")  # the package's commands explain themselves in argparse's form
            ours = body.partition("\nOptions:\n")[2]
            options = re.findall(r"--[-\w]+", text) if by_python else re.findall(r"^  (-[-\w,{}]+)", ours, re.M)
            names = {name.removesuffix("{false}") for each in options for name in each.split(",")}
            if path in (("train",), ("config",)):  # every key is an option of theirs; the table of keys explains them
                names |= self.keys()
            self.known[path] = (set(subcommands), names)
            if not by_python:
                self.silent += [f"{' '.join(path)} --help says nothing about {name}" for name in options_without_words(body)]
        return self.known[path]

    def keys(self):
        """The settings as options: rl.kl is --rl-kl."""
        text = subprocess.run([self.program, "config", "--json"], capture_output=True, text=True, check=True).stdout
        keys = [f"{section}-{key}" for section, settings in json.loads(text).items() if isinstance(settings, dict) for key in settings]
        short = ["--model", "--seed", "--store", "--algorithm", "--device", "--backend", "--families"]
        return {"--" + key.replace("_", "-") for key in keys} | set(short)

    def everything(self, path=()):
        for name in self.of(path)[0]:
            self.everything(path + (name,))

    def problem(self, words):
        """What is wrong with the words behind `kernelwright`; None: nothing."""
        path, options = (), set(self.of(())[1])
        for place, word in enumerate(words):
            subcommands = self.of(path)[0]
            if word in subcommands:
                path += (word,)
                options |= self.of(path)[1]
            elif not path and place > 0 and words[place - 1].startswith("--"):
                continue  # the value of an option of the program itself
            elif not path and not word.startswith("-"):
                return f"there is no subcommand {word}"
            elif len(path) == place and subcommands and path not in (("train",),) and re.fullmatch(r"[a-z]+", word):
                return f"{' '.join(path)} has no subcommand {word}"
            elif word.startswith("-") and not re.match(r"-[\d.]|-$", word):
                name = word.split("=")[0]
                if name not in options:
                    return f"{' '.join(path)} has no option {name}"
        return None


def words_of(command):
    """The words of a command line up to where words of a sentence or another command follow."""
    command = END_OF_COMMAND.split(command, maxsplit=1)[0]
    command = re.sub(r"""'[^']*'|\\?"[^"]*"?|\{[^}]*\}""", "X", command)
    return [word.strip("[](),.:") for word in command.split() if word not in ("\\",)]


def pieces_of(name, text):
    """(line, piece) for all that may hold a command: code of a page, what stands in its backticks, strings of a source, else lines."""
    lines = text.split("\n")
    fenced = False
    for place, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if name.endswith((".cpp", ".h")):
            pieces = STRING.findall(line)
        elif name.endswith(".md") and not fenced and not line.startswith("    "):
            pieces = re.findall(r"`([^`]*)`", line)
        else:
            while line.endswith("\\") and place + 1 < len(lines):
                place += 1
                line = line[:-1].rstrip() + " " + lines[place].strip()
            pieces = [line]
        yield from ((place + 1, piece) for piece in pieces)


def commands_in(name, text):
    """(line, words behind the program's name) for each command line."""
    for line, piece in pieces_of(name, text):
        for found in COMMAND.finditer(piece):
            if not found["before"] and words_of(found["words"]):
                yield line, words_of(found["words"])


@functools.cache
def make_targets():
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M))


def check_commands(name, text, help_texts):
    problems, count = [], 0
    for line, words in commands_in(name, text):
        count += 1
        problem = help_texts.problem(words)
        if problem:
            problems.append(f"{name}:{line}: `kernelwright {' '.join(words)}`: {problem}")
    for line, piece in pieces_of(name, text):
        for found in MAKE.finditer(piece):
            if name.endswith((".cpp", ".h")) and not found["tick"]:
                continue  # "make it shorter"
            count += 1
            problems += [f"{name}:{line}: `make {found[2]}`: there is no target {target}" for target in found[2].split()
                         if target not in make_targets()]
    return problems, count


def check(program):
    problems, commands = [], 0
    for path in files(PAGES):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        problems += check_lines(name, text) + check_links(name, text, path.parent)
    if program:
        help_texts = Help(program)
        sources = [path for kind in ("cpp", "h") for path in sorted((ROOT / "src").rglob("*." + kind)) if not path.stem.endswith("_test")]
        for path in files(PAGES + OTHERS) + sources:
            found, count = check_commands(str(path.relative_to(ROOT)), path.read_text(), help_texts)
            problems += found
            commands += count
        help_texts.everything()
        problems += help_texts.silent
    return problems, commands


def self_test(program):
    plants = [
        (check_lines("page.md", "x" * 141), "141 characters"),
        (check_links("page.md", "[a](no/such.md)", ROOT), "no/such.md"),
    ]
    silent = "Options:\n  --length INT                  tokens\n  --temperature FLOAT:FLOAT in [0 - 100]\n  --seed UINT=1                 \n"
    plants.append((list(options_without_words(silent)), "--temperature"))
    plants.append((list(options_without_words(silent)), "--seed"))
    if program:
        known = Help(program)
        for text, expected in (("say `kernelwright juge softmax`", "no subcommand juge"),
                               ("    kernelwright judge softmax my.cu --backends gpu", "no option --backends"),
                               ("```\nbuild/kernelwright model fetsh x\n```", "model has no subcommand fetsh"),
                               ("```\nkernelwright judge softmax my.cu \\\n  --jsno\n```", "no option --jsno"),
                               ("```\nmake quikstart    # sets up\n```", "no target quikstart")):
            plants.append((check_commands("page.md", text, known)[0], expected))
        for text, expected in (('Error{"", "kernelwright runs shwo"}', "runs has no subcommand shwo"),
                               ('"run `make setup biuld`"', "no target biuld")):
            plants.append((check_commands("a.cpp", text, known)[0], expected))
    missed = [expected for problems, expected in plants if not any(expected in problem for problem in problems)]
    for expected in missed:
        print(f"a planted mistake was not found: {expected}", file=sys.stderr)
    print(f"{len(plants) - len(missed)} of {len(plants)} planted mistakes were found")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test(arguments.program)
    problems, commands = check(arguments.program)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{len(files(PAGES))} pages are within {LONGEST} characters and their links lead somewhere"
              + (f"; {commands} command lines are as --help has them" if arguments.program else ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
