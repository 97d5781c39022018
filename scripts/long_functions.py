#!/usr/bin/env python3
"""Functions that are longer than one can read at a glance. Counts the lines from a function's head to its closing bracket,
as clang-format lays them out; raw strings (kernels that are written out, statements of SQL) do not count, nor do lambdas
and classes inside a function count on their own.

    scripts/long_functions.py [--over 100] [--show 200] [--root ROOT]    exit status 1 when a function is longer
    scripts/long_functions.py --self-test                                plants one and looks whether it is found"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# (file, function): why it is one piece.
ALLOWED = {
    ("src/kernel/emulate/engine.cpp", "run_split"): "the interpreter's inner loop: a call for each instruction would cost its speed",
    ("src/kernel/source/rules_name_tables.cpp", "groups"): "a table of names",
    ("src/kernel/compile/hostile_test.cpp", "generated_cases"): "a table of cases",
    ("src/agents/agent/hostile_answer_test.cpp", "hostile_answers"): "a table of cases",
}

NOT_FUNCTIONS = re.compile(r"^\s*(namespace|struct|class|union|enum|extern \"C\" \{|template\s*<[^{]*>\s*(struct|class))\b")


# A raw string; a comment; a string; a character, but not the mark within 1'000'000.
TEXTS = re.compile(r"""R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'""")


def without_texts(text):
    """Brackets inside texts are no code. Also the numbers of the lines that a raw string goes on to: they do not count."""
    skipped = set()

    def blank(match):
        first = text.count("\n", 0, match.start()) + 1
        count = match[0].count("\n")
        skipped.update(range(first + 1, first + count + 1))
        return "" if match[0].startswith("//") else '""' + "\n" * count

    return TEXTS.sub(blank, text), skipped


def functions_of(text):
    """(first line, name, lines that count) of every function: the outermost brackets that are no namespace or type."""
    code, skipped = without_texts(text)
    lines = code.split("\n")
    found, kinds, head, head_at = [], [], "", None
    macro = False  # a definition goes on while its lines end in a backslash
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or macro:
            macro = line.endswith("\\")
            continue
        for character in line:
            inside = any(kind == "function" for kind, _, _ in kinds)
            if character == "{":
                words = head.strip()
                outer = NOT_FUNCTIONS.match(words) and not words.endswith(")")
                kind = "other" if inside else "outer" if outer else "function" if "(" in words and not re.search(
                    r"=\s*$", words) else "other"
                name = re.search(r"([\w:~]+(?:operator\S*)?)\s*\(", words)
                kinds.append((kind, head_at or number, name[1] if name else "?"))
                head, head_at = "", None
            elif character == "}":
                if not kinds:
                    continue
                kind, first, name = kinds.pop()
                if kind == "function":
                    count = sum(1 for each in range(first, number + 1) if each not in skipped)
                    found.append((first, name, count))
                head, head_at = "", None
            elif character == ";" and not inside:
                head, head_at = "", None
            else:
                if character.strip() and head_at is None:
                    head_at = number
                head += character
        head += " "
    return found


def long_functions(root, over):
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "bench"], cwd=root,
                             capture_output=True, text=True, check=True).stdout.split()
    for name in tracked:
        path = root / name
        if not name.endswith((".h", ".cpp")) or not path.is_file():
            continue
        for first, function, count in functions_of(path.read_text(errors="replace")):
            if count > over and (name, function) not in ALLOWED:
                yield count, name, first, function


def self_test():
    body = "".join(f"  value += {i};\n" for i in range(98))
    cases = {
        "a function of 101 lines": (f"int sum(int value) {{\n{body}  return value;\n}}\n", 1),
        "one of 100": (f"int sum(int value) {{\n{body}}}\n", 0),
        "a method": (f"namespace kw {{\nclass A {{\n public:\n  int sum(int value) const {{\n{body}  return 1;\n  }}\n}};\n}}\n", 1),
        "a class of short methods": ("class A {\n" + "  int one() { return 1; }\n" * 200 + "};\n", 0),
        "a table": ("constexpr int table[] = {\n" + "    {1},\n" * 200 + "};\n", 0),
        "a text": ('std::string text() {\n  return R"(' + "{\n" * 200 + ')";\n}\n', 0),
    }
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src").mkdir()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        for what, (text, expected) in cases.items():
            (root / "src/planted.cpp").write_text(text)
            if len(list(long_functions(root, 100))) != expected:
                wrong += 1
                print(f"wrong about {what}")
    print(f"{len(cases) - wrong} of {len(cases)} planted cases were judged rightly")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--over", type=int, default=100)
    parser.add_argument("--show", type=int, default=200)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    found = sorted(long_functions(arguments.root, arguments.over), reverse=True)
    for count, name, line, function in found[: arguments.show]:
        print(f"{count:4} lines: {name}:{line} {function}")
    print(f"{len(found)} functions are over {arguments.over} lines")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
