#!/usr/bin/env python3
"""clang-tidy over files of src and bench, several at a time. The compile commands are those of build-lint, which is
configured and never built: there every file stands for itself. A file that was clean is not looked at again until it,
a header of ours that it includes, the rules or the program change; so a long run can be stopped and goes on later.

    scripts/lint.py --tidy clang-tidy-14                       # every file
    scripts/lint.py --tidy clang-tidy-14 src/base/file.cpp     # these files; a folder means all below it
    scripts/lint.py --tidy clang-tidy-14 --against auto        # what changed since a commit, and is not committed yet

A changed header is looked at through the .cpp beside it, or through the first file that includes it. `auto` is the
commit at which the branch left origin/main, or the one before HEAD where that is HEAD itself or unknown."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build-lint"
CLEAN = DATABASE / "clean"  # an empty file for each text that was clean, named by its hash
TORCH = ("src/kernel/reference/torch/", "src/model/gpu/torch/")  # torch's headers alone take minutes a file
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def our_files():
    names = git("ls-files", "--cached", "--others", "--exclude-standard", "src/*.h", "src/*.cpp", "bench/*.h", "bench/*.cpp")
    if names is None:
        sys.exit("lint: not a git checkout")
    return sorted(name for name in set(names) if not name.startswith(TORCH) and (ROOT / name).is_file())


def base_commit(wanted):
    if wanted != "auto":
        found = git("merge-base", wanted, "HEAD")
        if not found:
            sys.exit(f"lint: no commit is part of both {wanted} and HEAD")
        return found[0]
    head = git("rev-parse", "HEAD")
    left_main = git("merge-base", "origin/main", "HEAD")
    if left_main and left_main != head:
        return left_main[0]
    before = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    return before[0] if before else None


def changed_files(wanted):
    base = base_commit(wanted)
    if base is None:  # a checkout of one commit
        return set()
    changed = set(git("diff", "--name-only", "--diff-filter=d", base))
    return changed | set(git("ls-files", "--others", "--exclude-standard"))


class Texts:
    """What a file's compiler reads of our own files."""

    def __init__(self):
        self.read, self.included = {}, {}

    def text(self, name):
        if name not in self.read:
            path = ROOT / name
            self.read[name] = path.read_bytes() if path.is_file() else b""
        return self.read[name]

    def includes(self, name):
        """Direct and indirect ones; not a file that the build makes."""
        if name not in self.included:
            self.included[name] = found = {name}
            for text in INCLUDE.findall(self.text(name).decode(errors="replace")):
                for place in (f"src/{text}", f"{pathlib.PurePath(name).parent}/{text}"):
                    if (ROOT / place).is_file():
                        found |= self.includes(place)
                        break
        return self.included[name]

    def hash(self, name, rules):
        digest = hashlib.sha256(rules)
        for part in sorted(self.includes(name)):
            digest.update(part.encode() + b"\0" + self.text(part) + b"\0")
        return digest.hexdigest()


def sources_to_check(files, names, texts):
    """The .cpp files through which `names` are seen."""
    sources = [file for file in files if file.endswith(".cpp")]
    chosen = set()
    for name in names:
        beside = name.removesuffix(".h") + ".cpp"
        if name in sources:
            chosen.add(name)
        elif name in files and beside in sources:
            chosen.add(beside)
        elif name in files:
            chosen.update([source for source in sources if name in texts.includes(source)][:1])
    return sorted(chosen)


def below(files, arguments):
    wanted = [os.path.relpath(pathlib.Path(argument).resolve(), ROOT) for argument in arguments]
    names = [file for file in files if any(file == one or file.startswith(one + "/") for one in wanted)]
    if not names:
        sys.exit(f"lint: nothing to check in {' '.join(arguments)}")
    return names


def check(tidy, source):
    done = subprocess.run([tidy, "--quiet", "-p", str(DATABASE), source], cwd=ROOT, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + ("" if done.returncode == 0 else done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--tidy", required=True, help="the clang-tidy to use")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--against", metavar="COMMIT", help="only what changed since it; `auto` finds one")
    parser.add_argument("--most", type=int, help="at most so many files; the rest is named and left out")
    options = parser.parse_args()

    texts, files = Texts(), our_files()
    names = below(files, options.files) if options.files else changed_files(options.against) if options.against else files
    sources = sources_to_check(files, names, texts)

    version = subprocess.run([options.tidy, "--version"], capture_output=True, check=True).stdout
    rules = (ROOT / ".clang-tidy").read_bytes() + version
    CLEAN.mkdir(parents=True, exist_ok=True)
    waiting = [source for source in sources if not (CLEAN / texts.hash(source, rules)).exists()]
    left_out = waiting[options.most:] if options.most is not None else []
    waiting = waiting[:len(waiting) - len(left_out)]

    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(check, options.tidy, source): source for source in waiting}
        for done, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            source, (clean, output) = jobs[job], job.result()
            if clean:
                (CLEAN / texts.hash(source, rules)).touch()
            else:
                failed.append(source)
                print(output.strip())
            print(f"[{done}/{len(waiting)}] {source}{'' if clean else ': FAILED'}", flush=True)
    if left_out:
        print(f"left out, more than {options.most}: {len(left_out)} files: {' '.join(left_out)}")
    print(f"lint: {len(sources)} files, {len(waiting)} looked at now, {len(failed)} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
