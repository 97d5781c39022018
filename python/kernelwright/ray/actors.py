"""What runs on the nodes: plain classes, which `training` makes actors of, so that they can be tried without Ray."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from ..program import environment_for, find_program

_KEPT_LINES = 10_000
_END_S = 20.0


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as found:
        found.bind((host, 0))
        return int(found.getsockname()[1])


class Process:
    """A program under a keeper: its lines, its end."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=_KEPT_LINES)
        # As a file: it needs nothing of this package, and importing Ray would take it a second.
        keeper = [sys.executable, "-I", str(Path(__file__).with_name("keeper.py")), str(os.getpid()), *command]
        self._process = subprocess.Popen(keeper, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                         errors="replace", env=environment, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line.rstrip("\n"))

    def take_lines(self) -> list[str]:
        taken = []
        with contextlib.suppress(IndexError):
            while True:
                taken.append(self._lines.popleft())
        return taken

    def status(self) -> int | None:
        status = self._process.poll()
        if status is not None:
            self._reader.join(5)  # what it said last is there
        return status

    def ask_to_stop(self) -> None:
        """At its next safe point."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """The program with its keeper."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Metrics:
    """The lines of metrics.jsonl that have come since the last time, of every stage of a run."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._read: dict[Path, int] = {}

    def new(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for path in sorted(self._run.rglob("metrics.jsonl")):
            at = self._read.get(path, 0)
            if at > path.stat().st_size:
                at = 0  # the run resumed: what came after its checkpoint was removed
            with path.open("rb") as file:
                file.seek(at)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._read[path] = at + len(whole)
            stage = path.parent.relative_to(self._run).as_posix()
            for line in whole.splitlines():
                with contextlib.suppress(ValueError):
                    found.append({"stage": stage, **json.loads(line)})
        return found


class Rank:
    """One rank of a training run."""

    def __init__(self, program: str | None = None) -> None:
        self._program = find_program(program)
        self._process: Process | None = None
        self._metrics: Metrics | None = None

    def node(self) -> dict[str, Any]:
        """Where it is, for the ranks' meeting place."""
        import ray

        return {"host": ray.util.get_node_ip_address(), "node": ray.get_runtime_context().get_node_id(), "pid": os.getpid()}

    def free_port(self, host: str) -> int:
        return free_port(host)

    def start(self, arguments: list[str], environment: dict[str, str], run: str) -> None:
        # Ray has put the GPUs of this actor into CUDA_VISIBLE_DEVICES.
        self._process = Process([str(self._program), *arguments], {**environment_for(self._program), **environment})
        if environment.get("RANK", "0") == "0":
            self._metrics = Metrics(Path(run))

    def look(self) -> dict[str, Any]:
        """What has happened since the last look."""
        assert self._process is not None
        status = self._process.status()
        metrics = self._metrics.new() if self._metrics is not None else []
        return {"status": status, "lines": self._process.take_lines(), "metrics": metrics}

    def ask_to_stop(self) -> None:
        if self._process is not None:
            self._process.ask_to_stop()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()


class JudgeNode:
    """`kernelwright serve` as a judge. A service that dies is started again at the same address."""

    def __init__(self, secret: bytes, host: str | None, port: int | None, workers: int, options: list[str],
                 program: str | None = None) -> None:
        self._program = find_program(program)
        if host is None:
            import ray

            host = str(ray.util.get_node_ip_address())
        self._folder = tempfile.TemporaryDirectory(prefix="kernelwright-judge-")
        file = Path(self._folder.name) / "secret"
        file.touch(mode=0o600)
        file.write_bytes(secret)
        self._address = f"{host}:{port or free_port(host)}"
        local = host.startswith("127.")
        self._command = [str(self._program), "serve", "--no-agents", "--quiet", "--listen", self._address, "--judge-workers", str(workers),
                         "--judge-secret-file", str(file), "--runs", self._folder.name, "--end-with", str(os.getpid()),
                         *([] if local else ["--open-to-all"]), *options]
        self._starts = 0
        self._ending = False
        self._log = Path(self._folder.name) / "log"
        self._process = self._start()
        threading.Thread(target=self._watch, daemon=True).start()

    def _start(self) -> subprocess.Popen[bytes]:
        self._starts += 1
        with self._log.open("ab") as log:
            return subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                                    env=environment_for(self._program), start_new_session=True)

    def _watch(self) -> None:
        while not self._ending:
            if self._process.poll() is not None and not self._ending:
                time.sleep(min(5.0, 0.2 * self._starts))  # one that cannot start, because its port is taken, must not fill the machine
                self._process = self._start()
            time.sleep(0.1)

    def wait_until_ready(self, seconds: float) -> str:
        """Its URL."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"http://{self._address}/ready", timeout=10) as answer:
                    if answer.status == 200:
                        return f"http://{self._address}"
            time.sleep(0.1)
        said = self._log.read_text(errors="replace").splitlines()[-10:]
        raise RuntimeError(f"the judge at {self._address} was not ready within {seconds:.0f} s: " + "\n".join(said))

    def facts(self) -> dict[str, Any]:
        return {"url": f"http://{self._address}", "starts": self._starts, "pid": os.getpid(), "service_pid": self._process.pid}

    def end(self) -> None:
        self._ending = True
        self._process.terminate()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
