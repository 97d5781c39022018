"""A problem's Python is executed in a child process: it may take so much time and memory, and it cannot harm the caller."""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
from typing import Any, Callable

from ..errors import TaskError

default_seconds = 300
default_bytes = 12 << 30
derived_elements = 32 << 20  # of a train size that the judge can check without a GPU


def warm_up() -> None:
    """Before many children: the first trace of a process loads half of torch, and a fork inherits that."""
    import torch

    from .problem import FakeTensorMode
    from .quiet import quiet
    from .traced_graph import trace

    torch.set_num_threads(1)
    with quiet():
        for shape in ((2, 3), (3, 3)):
            with FakeTensorMode(allow_non_fake_inputs=True):
                trace(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)), (torch.rand(shape),))


def run_limited(work: Callable[[], Any], seconds: float = default_seconds, memory_bytes: int = default_bytes) -> Any:
    """What `work` returns, which has to be plain data. Raises TaskError where it fails or goes over a limit.

    The child is a fork: torch is imported once, in the caller. It inherits no way to answer but one pipe; its own output goes to standard
    error.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(work, writer, seconds, memory_bytes)
    os.close(writer)
    try:
        return _answer(child, reader, seconds)
    finally:
        os.close(reader)


def _child(work: Callable[[], Any], writer: int, seconds: float, memory_bytes: int) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        os.dup2(2, 1)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
        # What torch has mapped already counts, so the limit is on what comes on top.
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory_bytes, mapped + memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        answer = ("done", work())
        code = 0
    except TaskError as error:
        answer = ("refused", str(error))
    except MemoryError:
        answer = ("refused", f"it needs over {memory_bytes >> 30} GiB of memory")
    except BaseException as error:  # whatever a stranger's file raises, SystemExit too
        last = traceback.extract_tb(error.__traceback__)[-1]
        answer = ("refused", f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''} "
                             f"({os.path.basename(last.filename)}:{last.lineno})")
    try:
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
        sys.stderr.flush()
    finally:
        os._exit(code)


def _answer(child: int, reader: int, seconds: float) -> Any:
    started = time.monotonic()
    parts = []
    try:
        while True:
            # Its CPU time has a limit of its own; this one is for a child that sleeps. Waiting for a busy machine is not sleeping.
            left = 3 * seconds - (time.monotonic() - started - _waited_for_a_processor(child))
            if left <= 0:
                raise TaskError(f"it took over {3 * seconds:.0f} s")
            if not select.select([reader], [], [], min(left, 1.0))[0]:
                continue
            part = os.read(reader, 1 << 16)
            if not part:
                break
            parts.append(part)
            if sum(map(len, parts)) > 64 << 20:
                raise TaskError("its answer is too large")
    except BaseException:
        _kill(child)
        raise
    status = _kill(child, wait_first=True)
    if not parts:
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            raise TaskError(f"it took over {seconds:.0f} s of CPU time")
        raise TaskError(f"its process died ({signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else status})")
    # The answer comes from a process that ran a stranger's file: only plain data is read.
    kind, value = _PlainData(b"".join(parts)).load()
    if kind == "refused":
        raise TaskError(str(value))
    return value


def _waited_for_a_processor(child: int) -> float:
    """Seconds; 0 where the system does not say."""
    try:
        with open(f"/proc/{child}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _kill(child: int, wait_first: bool = False) -> int:
    if wait_first:
        return os.waitpid(child, 0)[1]
    for target in (lambda: os.killpg(child, signal.SIGKILL), lambda: os.kill(child, signal.SIGKILL)):
        try:
            target()
        except ProcessLookupError:
            pass
    return os.waitpid(child, 0)[1]


class _PlainData(pickle.Unpickler):
    def __init__(self, data: bytes):
        import io

        super().__init__(io.BytesIO(data))

    def find_class(self, module: str, name: str):
        raise TaskError(f"the answer holds a {module}.{name}")
