#!/usr/bin/env python3
"""Writes tests/extensions/goldens.txt: what the host code of every extension file there really does.

nvcc compiles all files against PyTorch's real headers, PyTorch works on the CPU, and a CUDA runtime that only records
stands in for the GPU (tests/extensions/recording_torch.h). src/kernel/source/extension_test.cpp compares the launch
plans with the result. Takes minutes; only needed when a file is added or changed.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "extensions"
TORCH = ROOT / ".deps" / "site-packages" / "torch"
CUDA = ROOT / ".deps" / "site-packages" / "nvidia" / "cu13"
SIZES = [{"rows": 5, "cols": 6}, {"rows": 64, "cols": 65}, {"rows": 333, "cols": 334}]
SCALARS = [0.75, 3]
TYPES = {"float32": "at::kFloat", "float64": "at::kDouble", "float16": "at::kHalf", "bfloat16": "at::kBFloat16",
         "int32": "at::kInt", "int64": "at::kLong", "bool": "at::kBool", "uint8": "at::kByte", "int8": "at::kChar"}


def tensors(text):
    """x float32 [rows, cols], eps float32 [] -> (name, dtype, shape) of each."""
    return [(n, d, [part.strip() for part in s.split(",") if part.strip()])
            for n, d, s in re.findall(r"(\w+) (\w+) \[([^\]]*)\]", text)]


def without_kernel_bodies(text):
    """Device code compiles faster without; only its parameters matter here."""
    result, at = [], 0
    for match in re.finditer(r"__global__[^;{]*?\([^;{]*\)\s*\{", text):
        if match.start() < at:
            continue
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        result.append(text[at:match.end()] + "}")
        at = end
    return "".join(result) + text[at:]


def entry_of(text):
    exported = re.search(r'm\.(?:def|impl)\("forward", &([\w:]+)', text)
    return exported.group(1) if exported else "forward"


def driver_calls(index, name, text):
    task = text.splitlines()[0].split("task: ")[1]
    inputs, outputs = (tensors(part) for part in task.split("->"))
    lines = []
    takes_outputs = re.search(r"void forward\(", text) is not None
    for number, sizes in enumerate(SIZES):
        arguments, scalars = [], 0
        lines.append("  {\n    recording::begin(\"%s\", %d);" % (name, number))
        for position, (_, dtype, shape) in enumerate(inputs + (outputs if takes_outputs else [])):
            if not shape:
                arguments.append(str(SCALARS[scalars]))
                scalars += 1
                continue
            numbers = ", ".join(str(sizes.get(part, part)) for part in shape)
            lines.append("    at::Tensor t%d = recording::input({%s}, %s);" % (position, numbers, TYPES[dtype]))
            arguments.append("t%d" % position)
        lines.append("    recording::record([&] { return kw%d::%s(%s); });\n  }" %
                     (index, entry_of(text), ", ".join(arguments)))
    return "\n".join(lines)


def write_unit(path, files):
    includes, bodies, calls = set(), [], []
    for index, file in enumerate(files):
        text = file.read_text()
        lines, macros = [], []
        for line in without_kernel_bodies(text).splitlines():
            if line.startswith("#include"):
                if not re.search(r"<(torch|ATen|c10)/", line):
                    includes.add(line)
                line = ""
            if line.startswith("#define "):
                macros.append(re.split(r"[ (\\]", line[8:])[0])
            lines.append(line)
        bodies.append("namespace kw%d {\n#line 1 \"%s\"\n%s\n}\n%s" %
                      (index, file.name, "\n".join(lines), "".join("#undef %s\n" % macro for macro in macros)))
        calls.append(driver_calls(index, file.stem, text))
    path.write_text("%s\n#include \"recording_torch.h\"\n%s\nint main(int, char** arguments) {\n"
                    "  recording::read_kernel_bytes(arguments[1]);\n%s\n}\n" %
                    ("\n".join(sorted(includes)), "\n".join(bodies), "\n".join(calls)))


def argument_bytes(ptx):
    """The bytes of every kernel's parameters by its name."""
    widths = {"8": 1, "16": 2, "32": 4, "64": 8}
    for name, parameters in re.findall(r"\.entry (\w+)\(([^)]*)\)", ptx):
        sizes = []
        for kind, bits, array in re.findall(r"\.param (?:\.align \d+ )?\.([a-z])(\d+) \w+(?:\[(\d+)\])?", parameters):
            sizes.append(int(array) if array else widths[bits])
        yield "%s %d %s" % (name, len(sizes), " ".join(map(str, sizes)))


def canonical(line):
    """Kernels by their C++ names without blanks and without the namespace of their file."""
    words = line.split(" ")
    if words[0] in ("launch", "limit"):
        name = subprocess.run(["c++filt", words[1]], capture_output=True, text=True, check=True).stdout.strip()
        name = re.sub(r"^void ", "", re.sub(r"kw\d+::", "", name))
        words[1] = name.replace(" ", "")
    return " ".join(words)


def main():
    files = sorted(FOLDER.glob("*.cu"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_unit(folder / "unit.cu", files)
        include = ["-I", str(TORCH / "include"), "-I", str(TORCH / "include/torch/csrc/api/include"), "-I",
                   str(FOLDER), "-I", str(CUDA / "include")]
        options = ["-std=c++20", "-w", "-O0", "-D_GLIBCXX_USE_CXX11_ABI=1"]
        nvcc = [str(CUDA / "bin" / "nvcc"), "--expt-relaxed-constexpr", "-gencode", "arch=compute_80,code=compute_80"]
        subprocess.run(nvcc + options + include + ["--keep", "-c", "unit.cu", "-o", "unit.o"], cwd=folder, check=True)
        subprocess.run(["c++"] + options + include + ["-c", str(FOLDER / "recording_runtime.cpp"), "-o", "runtime.o"],
                       cwd=folder, check=True)
        libraries = TORCH / "lib"
        subprocess.run(["c++", "unit.o", "runtime.o", "-o", "recorder", "-L", str(libraries), "-ltorch_cpu", "-lc10",
                        "-Wl,-rpath," + str(libraries)], cwd=folder, check=True)
        ptx = "".join(path.read_text() for path in folder.glob("*.ptx"))
        (folder / "bytes.txt").write_text("\n".join(argument_bytes(ptx)) + "\n")
        recorded = subprocess.run(["./recorder", "bytes.txt"], cwd=folder, check=True, capture_output=True, text=True)
    lines = [canonical(line) for line in recorded.stdout.splitlines()]
    (FOLDER / "goldens.txt").write_text("\n".join(lines) + "\n")
    print("%d files, %d lines" % (len(files), len(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
