"""The child: it is started again when it dies, ends with its parent, and belongs to one process."""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import kernelwright as kw
import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_S = 120  # that only what never comes misses


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what: str, true: object) -> None:
    end = time.monotonic() + MOST_S
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.02)


def script(text: str, **more: object) -> subprocess.Popen[str]:
    """A Python program of its own that uses the package."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    start = "import os, sys, time\nimport kernelwright as kw\n" f"GOOD = open({str(ROOT / 'examples' / 'softmax_shared.cu')!r}).read()\n"
    return subprocess.Popen([sys.executable, "-c", start + text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment, **more)  # type: ignore[call-overload, no-any-return]


def test_it_starts_late_and_ends_with_close(good: str) -> None:
    service = kw.Service(workers=1)
    assert service.child_pid is None
    with service:
        assert kw.Judge(service).judge("softmax", good).correct
        pid = service.child_pid
        assert pid is not None and alive(pid)
        folder = Path(service.address.removeprefix("unix:")).parent
        assert folder.exists() and service.description()["ready"] is True
    assert not alive(pid) and not folder.exists()
    with pytest.raises(kw.ServiceDied, match="closed"):
        service.request("GET", "/health")
    service.close()


def test_one_that_nobody_holds_ends(good: str) -> None:
    service = kw.Service(workers=1)
    service.start()
    pid = service.child_pid
    assert pid is not None
    del service
    gc.collect()
    wait_for("its end", lambda: not alive(pid))


def test_a_dead_child_is_started_again() -> None:
    good = (ROOT / "tasks" / "relu" / "naive.cu").read_text()
    wrong = good.replace("fmaxf(", "fminf(")
    with kw.Service(workers=1) as service:
        judge = kw.Judge(service)
        killed: list[int] = []
        pairs = [("relu", (good if i % 2 else wrong) + f"\n__device__ int unused_{time.time_ns()}_{i};\n") for i in range(12)]
        right = []
        for number, verdict in enumerate(judge.judge_many(pairs, in_flight=6)):
            right.append(verdict.correct)
            if number in (1, 5):  # others are in flight
                wait_for("a child", lambda: service.child_pid not in (None, *killed))
                killed.append(service.child_pid or 0)
                os.kill(killed[-1], signal.SIGKILL)
        assert right == [bool(i % 2) for i in range(12)]
        assert judge.judge("relu", good).correct
        assert service.restarts == 2 and len(killed) == 2


def test_one_that_dies_again_and_again_is_given_up(tmp_path: Path) -> None:
    program = tmp_path / "kernelwright"
    program.write_text("#!/bin/sh\necho 'there is no compiler' >&2\nexit 3\n")
    program.chmod(0o755)
    with kw.Service(program=program) as service, pytest.raises(kw.ServiceDied, match="status 3(.|\n)*no compiler"):
        service.request("GET", "/health")


def test_the_program_is_found_or_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(kw.ProgramNotFound, match="the argument names"):
        kw.Service(program=tmp_path / "nothing")
    monkeypatch.setenv("KERNELWRIGHT", str(tmp_path))
    with pytest.raises(kw.ProgramNotFound, match="KERNELWRIGHT names"):
        kw.Service()
    with pytest.raises(ValueError, match="not the address"):
        kw.Service("localhost:8000")


@pytest.mark.parametrize("how", ["exit", "os._exit(0)", "kill"])
def test_the_child_ends_with_its_parent(how: str) -> None:
    end = {"exit": "", "os._exit(0)": "os._exit(0)", "kill": "time.sleep(600)"}[how]
    running = script("service = kw.Service(workers=1); service.start(); print(service.child_pid, flush=True)\n" + end)
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    if how == "kill":
        assert alive(pid)
        running.kill()
    running.communicate()
    wait_for("the child's end", lambda: not alive(pid))


def test_a_thread_that_started_it_may_end(service: kw.Service, good: str) -> None:
    with kw.Service(workers=1) as own:
        thread = threading.Thread(target=own.start)
        thread.start()
        thread.join()
        time.sleep(0.2)
        assert own.child_pid is not None and alive(own.child_pid)
        assert kw.Judge(own).judge("softmax", good).correct and own.restarts == 0


def test_ctrl_c_ends_the_program_and_the_child() -> None:
    running = script("""
service = kw.Service(workers=1); service.start(); print(service.child_pid, flush=True)
try:
    for number, verdict in enumerate(kw.Judge(service).judge_many((("softmax", f"{GOOD}// {os.getpid()} {i}") for i in range(10000)))):
        if number == 2: print("some", flush=True)
except KeyboardInterrupt:
    print("interrupted", kw.Judge(service).judge("softmax", GOOD).status, service.restarts, flush=True)
    raise
""", start_new_session=True)
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    assert running.stdout.readline() == "some\n"
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does it
    out, _ = running.communicate(timeout=MOST_S)
    assert out == "interrupted correct 0\n"  # the child was left alone, so one may go on
    assert running.returncode in (1, 130, -signal.SIGINT)
    wait_for("the child's end", lambda: not alive(pid))


def test_a_fork_has_its_own(good: str) -> None:
    with kw.Service(workers=1) as service:
        judge = kw.Judge(service)
        assert judge.judge("softmax", good).correct
        pid = service.child_pid
        read, write = os.pipe()
        forked = os.fork()
        if forked == 0:
            try:
                right = judge.judge("softmax", good).correct
                os.write(write, f"{right} {service.child_pid}".encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            right, own = pipe.read().split()
        os.waitpid(forked, 0)
        assert right == "True" and int(own) != pid
        wait_for("the end of the fork's child", lambda: not alive(int(own)))
        assert service.child_pid == pid and alive(pid or 0)
        assert judge.judge("softmax", good).correct and service.restarts == 0


def _status(judge: kw.Judge, kernel: str) -> tuple[str, int | None]:
    return judge.judge("softmax", kernel).status, judge.service.child_pid


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method: str, judge: kw.Judge, good: str) -> None:
    assert judge.judge("softmax", good).correct
    with multiprocessing.get_context(method).Pool(1) as pool:
        [(status, pid)] = pool.starmap(_status, [(judge, good)])
    assert status == "correct" and pid not in (None, judge.service.child_pid)
    wait_for("the end of the worker's child", lambda: not alive(pid or 0))


def test_a_service_elsewhere(service: kw.Service, good: str) -> None:
    service.start()
    with kw.Judge(url=service.address) as judge:
        assert judge.judge("softmax", good).correct
        assert pickle.loads(pickle.dumps(judge.service)).address == service.address
    assert service.child_pid is not None and alive(service.child_pid)  # another's is left alone
    with kw.Service("unix:/nothing/there.sock", patience=0.2) as nobody, pytest.raises(kw.ServiceDied, match="not reached"):
        nobody.request("GET", "/health")


def test_quotas_are_waited_for(good: str) -> None:
    with tempfile.NamedTemporaryFile("w") as keys:
        keys.write(f"ada {hashlib.sha256(b'secret').hexdigest()} 6000 1\n")  # one at a time
        keys.flush()
        with kw.Service(workers=1, key="secret", options=["--api-key-file", keys.name]) as service:
            assert all(v.correct for v in kw.Judge(service).judge_many([("softmax", good)] * 12, in_flight=6))
            impatient = kw.Service(service.address, key="wrong")
            with pytest.raises(kw.ServiceError) as caught:
                impatient.request("GET", "/v1/tasks")
            assert caught.value.status == 401


def test_timeouts_say_so(service: kw.Service, good: str) -> None:
    service.start()
    with pytest.raises(kw.ServiceTimeout):
        kw.Judge(service).judge("softmax", f"{good}\n// {time.time()}", timeout=0.001)
    with pytest.raises(TimeoutError):
        kw.Judge(service).judge("softmax", f"{good}\n// {time.time()}", timeout=0.001)


def test_abandoned_folders_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    running = script("service = kw.Service(workers=1); service.start(); print(service.child_pid, flush=True); time.sleep(600)")
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    [left] = tmp_path.glob("kernelwright-*")
    running.kill()
    running.communicate()
    wait_for("the child's end", lambda: not alive(pid))
    assert left.exists()
    script("kw.Service(workers=1).start()").communicate(timeout=MOST_S)
    assert list(tmp_path.glob("kernelwright-*")) == []


def test_the_import_is_light() -> None:
    running = script("print(sorted({'torch', 'httpx', 'numpy', 'asyncio'} & set(sys.modules)), sorted(kw.__all__) == kw.__all__)")
    assert running.communicate(timeout=MOST_S)[0] == "[] True\n"
