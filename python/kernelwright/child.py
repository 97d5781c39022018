"""`kernelwright serve` as a child of this process, on a Unix socket in a folder of its own.

The child ends with this process, however that ends: it watches its parent. It has its own session, so that Ctrl-C in a terminal reaches
this process alone, which then decides.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import ServiceDied
from .program import environment_for

_PREFIX = "kernelwright-"
_LOCK = "lock"
_LOG = "serve.log"
_END_S = 10.0
_LOG_LINES = 12


class Folder:
    """A folder for socket, log and conversations; removed at the end, or by the next process when this one was killed."""

    def __init__(self) -> None:
        _remove_abandoned()
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            # Locked as long as this process, or a fork of it, lives: others see that it is in use.
            self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            if (self.path / _LOCK).exists():
                return
            os.close(self._lock)  # somebody took it for abandoned before it was locked

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.forget()

    def forget(self) -> None:
        """In a fork: the folder is the parent's."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        try:
            if folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # none of ours, or its owner is about to lock it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # in use
        finally:
            os.close(lock)


class Child:
    """One run of the program. `start` returns when it answers requests."""

    def __init__(self, program: Path, folder: Path, arguments: Sequence[str], generation: int) -> None:
        self.socket = str(folder / f"{generation}.sock")
        self._log = folder / _LOG
        command = [str(program), "serve", "--socket", self.socket, "--quiet", "--end-with", str(os.getpid()),
                   "--runs", str(folder / "runs"), "--folder", str(folder / "conversations"), *arguments]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                                             start_new_session=True, env=environment_for(program))

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_listening(self, seconds: float) -> None:
        """Until the socket is there; loading goes on after that, and requests are answered with 503 meanwhile."""
        end = time.monotonic() + seconds
        while not os.path.exists(self.socket):
            if not self.alive():
                raise ServiceDied(f"the program ended at its start {self.last_words()}")
            if time.monotonic() > end:
                self.end()
                raise ServiceDied(f"the program did not listen within {seconds:.0f} s {self.last_words()}")
            time.sleep(0.01)

    def last_words(self) -> str:
        """How it ended, and the end of what it said."""
        status = self._process.poll()
        how = "" if status is None else f"with status {status}" if status >= 0 else f"by signal {-status}"
        try:
            lines = self._log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        except OSError:
            lines = []
        return f"({how})" + "".join(f"\n  {line}" for line in lines)

    def end(self) -> None:
        """Requests that are open are cut: nobody is there to hear their answers."""
        if self.alive():
            self._process.terminate()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
