#!/usr/bin/env python3
"""Which source files may be compiled together. Most of a file's compile time goes into headers, so files of a module are
joined into groups that read them once (CMake's unity builds). Two files cannot share a group when one of them gives a name
to something of its own that the other one has or sees too: such names are found here, by the layout that clang-format
gives (declarations of a namespace begin in the first column), and the files are put into different groups.

    cmake/unity_groups.py SOURCE_ROOT OUTPUT.cmake

writes `set(KW_UNITY_<path> <group>)` for every file of src and bench, which cmake/module.cmake reads."""
import pathlib
import re
import sys

MOST_LINES = 2200  # of a group: more saves little and keeps the last core waiting
KEYWORDS = {"const", "constexpr", "inline", "static", "struct", "class", "enum", "using", "return", "template", "extern", "union",
            "operator", "auto", "void", "bool", "int", "char", "double", "float", "if", "for", "while", "default", "public", "private"}
INCLUDE = re.compile(r'#include "([^"]+)"')


def declared_name(line):
    """The name that a line in the first column declares, or None."""
    if not re.match(r"[A-Za-z_:\[~]", line) or line.startswith(("namespace", "public", "private", "protected", "return", "case")):
        return None
    test = re.match(r"TEST(?:_[FP])?\((\w+), (\w+)\)", line)
    if test:
        return f"{test[1]}_{test[2]}"
    line = re.sub(r"alignas\([^)]*\)|__attribute__\(\(.*?\)\)|\[\[.*?\]\]|KW_[A-Z_]+\s", "", line)
    kind = re.match(r"(?:typedef\s+)?(?:struct|class|enum class|enum|union)\s+(?:\w+::)*(\w+)", line)
    if kind and not re.search(r"\w\s+[&*]?\w+\s*[(=]", line[kind.end():]):
        return kind[1]
    alias = re.match(r"using\s+(\w+)\s*=", line)
    if alias:
        return alias[1]
    head = re.split(r"[({=;]|\[", line, maxsplit=1)[0]
    names = re.findall(r"(?:\w+::)*~?\w+", head)
    if not names or names[-1] in KEYWORDS or "::" in names[-1]:  # `using std::swap;`, a member's definition
        return None
    return names[-1]


def names_of(text):
    """Names that a file has for itself (in nameless namespaces, static, macros), and those that it declares for all."""
    own, shared = set(), set()
    nameless = False
    for line in text.split("\n"):
        if re.match(r"namespace \{", line):
            nameless = True
        elif re.match(r"\}\s*// namespace\s*$", line):  # clang-format writes the name of any other
            nameless = False
        macro = re.match(r"#\s*define\s+(\w+)", line)
        if macro:
            own.add(macro[1])
        name = declared_name(line.split("//")[0])
        if name:
            (own if nameless or line.startswith("static ") else shared).add(name)
    return own, shared


class Sources:
    def __init__(self, root):
        self.root = root
        self.texts, self.names, self.seen_names = {}, {}, {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = path.read_text(errors="replace") if path.is_file() else ""
            self.names[path] = names_of(self.texts[path])
        return self.texts[path]

    def visible(self, path):
        """Every name that the headers of a file declare."""
        if path in self.seen_names:
            return self.seen_names[path]
        self.seen_names[path] = seen = set()
        for included in INCLUDE.findall(self.text(path)):
            for place in (self.root / "src" / included, path.parent / included):
                if place.is_file():
                    self.text(place)
                    seen |= self.names[place][1] | self.names[place][0] | self.visible(place)
                    break
        return seen

    def clash(self, a, b):
        own_a, own_b = self.names[a][0], self.names[b][0]
        return bool(own_a & own_b or own_a & (self.names[b][1] | self.visible(b)) or own_b & (self.names[a][1] | self.visible(a)))


def group(sources, files):
    groups = []
    for file in files:
        lines = sources.text(file).count("\n")
        for members in groups:
            if members["lines"] + lines <= MOST_LINES and not any(sources.clash(file, other) for other in members["files"]):
                members["files"].append(file)
                members["lines"] += lines
                break
        else:
            groups.append({"files": [file], "lines": lines})
    return groups


def main():
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    sources = Sources(root)
    lines = []
    folders = sorted({path.parent for place in ("src", "bench") for path in (root / place).rglob("*.cpp")})
    for folder in folders:
        files = sorted(folder.glob("*.cpp"))
        for kind in (lambda f: f.stem.endswith("_test"), lambda f: not f.stem.endswith(("_test", "_fuzz"))):
            for members in group(sources, [file for file in files if kind(file)]):
                # Named by its first file: a new file elsewhere does not rename, and so rebuild, all later groups.
                name = members["files"][0].stem
                lines += [f'set("KW_UNITY_{file.relative_to(root)}" {name})' for file in members["files"]]
    text = "\n".join(lines) + "\n"
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
