#!/usr/bin/env python3
"""Short training runs to which everything happens but kill -9 (scripts/killed_runs.py): the judge's workers are killed all the time, the
disk fills up, the folder may not be written to, files are damaged.

    scripts/fault_run.py [workers full read_only damaged]

Each must go on, or stop with a sentence that says what to do and go on after that was done, and end with the bits of a run that nothing
happened to. A full disk is a small tmpfs: mounting one needs root, without it these parts are left out and say so. Kernels that hang
or crash are in src/learn/rl/fault_run_test.cpp.
"""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # beside the scripts
from short_run import Run, differences, numbers

failures = []


def check(truth, what):
    print(f"  {'' if truth else 'WRONG: '}{what}", flush=True)
    if not truth:
        failures.append(what)


def message_of(run):
    """The last line that the program said."""
    lines = [line for line in run.output.splitlines() if line.startswith("kernelwright:")]
    return lines[-1] if lines else run.output[-400:]


def stops_with(run, code, words):
    message = message_of(run)
    check(code not in (0, 130) and code > 0 and all(word in message for word in words), f"it stops with exit code {code}: {message}")


def goes_on(run, expected):
    code = run.run()
    different = differences(expected, run.record()) if code == 0 else [message_of(run)]
    check(not different, f"the same command goes on and ends with {'the same bits' if not different else different}")


def wait_for(process, condition):
    """Whether it came true while the process lived."""
    while process.poll() is None:
        if condition():
            return True
        time.sleep(0.005)
    return False


def checkpoint(run, step):
    return run.folder / "checkpoints" / f"step-{step:09}"


def children(process):
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
        try:
            found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            pass
    return found


def is_ready(worker):
    """It has given up its system calls, and waits for kernels or compiles one."""
    try:
        return "Seccomp:\t2" in pathlib.Path(f"/proc/{worker}/status").read_text()
    except OSError:
        return False


def killed_workers(work, expected, secret, undisturbed_s):
    interval_s = max(0.05, undisturbed_s / 25)  # as often in a run on any machine
    print(f"the judge's workers are killed, one each {interval_s:.2f} s:", flush=True)
    run = Run(work / "workers", "rl", secret=secret)
    random = numbers(1)
    process, killed = run.start(), 0
    while process.poll() is None:
        time.sleep(interval_s)
        # Where starting one takes longer than that, there would never be any.
        if workers := [worker for worker in children(process.pid) if is_ready(worker)]:
            try:
                os.kill(random.choice(workers), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    code = run.finish(process)
    check(code == 0 and killed >= 3, f"{killed} workers killed; exit code {code}{'' if code == 0 else ': ' + message_of(run)}")
    verdicts = [row[-1] for store in run.conversations().values() for row in store[:-1] if row[-1]]
    lost = verdicts.count("internal_error")
    lost_in_exams = sum(path.read_text().count('"internal_error"') for path in (run.folder / "exams").glob("*"))
    check(lost * 2 <= len(verdicts), f"{len(run.metrics())} lines of metrics; {len(verdicts)} verdicts in conversations; the judge's own fault, and "
          f"left out: {lost} of them, {lost_in_exams} in exams")
    if lost == 0:
        parts = ["agents", "conversations"] if lost_in_exams else list(expected)
        found = run.record()
        different = differences({part: expected[part] for part in parts}, found)
        check(not different, f"{', '.join(parts)}: {'the same bits' if not different else different}")


class SmallDisk:
    def __init__(self, place, size):
        self.place = place
        place.mkdir(parents=True)
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], stderr=subprocess.DEVNULL).returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "-l", self.place], check=True)

    def remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", self.place], check=True)

    def fill(self):
        """What the run has itself stays; everything else is taken."""
        with open(self.place / "ballast", "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    pass


def full_disk(work, expected, secret, _):
    def refused():
        print("  left out: mounting a small disk needs root")

    print("the disk is too small for the third checkpoint:", flush=True)
    with SmallDisk(work / "small", "150m") as disk:
        if not disk.mounted:
            return refused()
        run = Run(disk.place, "rl", secret=secret)
        stops_with(run, run.run(), ["No space left on device", "make room", "checkpoint"])
        check(checkpoint(run, 1).exists() and not list((run.folder / "checkpoints").glob(".saving*")), "the earlier checkpoint is there, half of one is not")
        stops_with(run, run.run(), ["make room"])
        disk.remount("size=1g")
        goes_on(run, expected)
    moments = [("while conversations are held", lambda run: (run.folder / "conversations" / "step-00000002.db").exists()),
               ("while a checkpoint is written", lambda run: list((run.folder / "checkpoints").glob(".saving-step-000000002*"))),
               ("when it starts", lambda run: (run.folder / "config.json").exists()),
               ("after the last exam", lambda run: (run.folder / "exams" / "step-00000004.json").exists())]
    for number, (what, moment) in enumerate(moments):
        print(f"the disk fills up {what}:", flush=True)
        with SmallDisk(work / f"filling-{number}", "400m") as disk:
            run = Run(disk.place, "rl", secret=secret)
            process = run.start()
            if wait_for(process, lambda: moment(run)):
                process.send_signal(signal.SIGSTOP)  # or else it might be ready before the disk is full
                disk.fill()
                process.send_signal(signal.SIGCONT)
            stops_with(run, run.finish(process), ["full", "make room"])
            (disk.place / "ballast").unlink()
            goes_on(run, expected)


def read_only(work, expected, secret, _):
    print("the folder may not be written to:", flush=True)
    with SmallDisk(work / "read-only", "1g") as disk:
        if not disk.mounted:
            return print("  left out: mounting a read-only disk needs root")
        run = Run(disk.place, "rl", secret=secret)
        disk.remount("ro")
        stops_with(run, run.run(), ["Read-only"])
        disk.remount("rw")
        process = run.start()
        wait_for(process, lambda: checkpoint(run, 2).exists())
        process.send_signal(signal.SIGKILL)
        run.finish(process)
        disk.remount("ro")
        stops_with(run, run.run(), ["may not be written to"])
        disk.remount("rw")
        goes_on(run, expected)


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def killed_when(run, condition):
    process = run.start()
    wait_for(process, lambda: condition(run))
    process.send_signal(signal.SIGKILL)
    run.finish(process)


def turns_in(store):
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM turns").fetchone()[0]
    except sqlite3.Error:
        return 0


def damaged_files(work, expected, secret, _):
    for name in ("trainer/state-2.safetensors", "curriculum.json", "manifest.json"):
        print(f"a byte of the latest checkpoint's {name} is another:", flush=True)
        run = Run(work / ("checkpoint-" + name.replace("/", "-")), "rl", secret=secret)
        killed_when(run, lambda run: checkpoint(run, 2).exists())
        flip_a_byte(checkpoint(run, 2) / name)
        goes_on(run, expected)
        said = [line.split("reason=")[-1] for line in run.output.splitlines() if "checkpoint_damaged" in line]
        check(said and "going on after step 1" in run.output, f"it says: {said[0]}, going on after step 1")
    print("all checkpoints are damaged:", flush=True)
    run = Run(work / "checkpoints", "rl", secret=secret)
    killed_when(run, lambda run: checkpoint(run, 2).exists())
    before = run.metrics()
    for file in (run.folder / "checkpoints").glob("step-*/curriculum.json"):
        flip_a_byte(file)
    stops_with(run, run.run(), ["are damaged"])
    check(run.metrics() == before, f"its {len(before)} lines of metrics are as they were")
    shutil.rmtree(run.folder / "checkpoints")
    goes_on(run, expected)
    print("the store of a step's conversations is damaged:", flush=True)
    run = Run(work / "conversations", "rl", secret=secret)
    store = run.folder / "conversations" / "step-00000002.db"
    killed_when(run, lambda run: turns_in(store) >= 2)
    with sqlite3.connect(store) as database:  # from its log into the file
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(store.read_bytes())
    content[4096:] = bytes(value ^ 0x5a for value in content[4096:])
    store.write_bytes(content)
    stops_with(run, run.run(), [str(store.name), "damaged"])
    store.rename(store.with_suffix(".damaged"))
    for rest in ("-wal", "-shm"):
        pathlib.Path(str(store) + rest).unlink(missing_ok=True)
    goes_on(run, expected)
    print("the store of all runs is something else:", flush=True)
    run = Run(work / "runs", "rl", secret=secret)
    killed_when(run, lambda run: checkpoint(run, 2).exists())
    store = run.place / "runs.db"
    store.write_bytes(b"something else" * 1000)
    for rest in ("-wal", "-shm"):
        pathlib.Path(str(store) + rest).unlink(missing_ok=True)
    stops_with(run, run.run(), ["runs.db", "move it away"])
    store.rename(store.with_suffix(".damaged"))
    goes_on(run, expected)


PARTS = {"workers": killed_workers, "full": full_disk, "read_only": read_only, "damaged": damaged_files}


def main():
    chosen = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        sys.exit(f"{unknown[0]}? There are {', '.join(PARTS)}.\n{__doc__}")
    with tempfile.TemporaryDirectory(prefix="kernelwright-faults-") as temporary:
        work = pathlib.Path(temporary)
        undisturbed = Run(work / "undisturbed", "rl")
        start = time.monotonic()
        if undisturbed.run() != 0:
            sys.exit(f"the undisturbed run failed:\n{undisturbed.output}")
        undisturbed_s = time.monotonic() - start
        for name in chosen:
            PARTS[name](work, undisturbed.record(), undisturbed.cache / "secret", undisturbed_s)
    print("nothing was lost" if not failures else f"{len(failures)} things went wrong")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
