"""Runs a program as long as the process that asked for it lives: python keeper.py PARENT COMMAND...

An actor that Ray kills (SIGKILL, a lost node) cannot end its child. This process can: it sees that its parent is another one now. Where
it is killed itself (Ray kills the children of an actor that has ended), the kernel kills the program. SIGINT and SIGTERM are passed on,
and the program's exit status is this process's.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time

_LOOK_S = 0.1
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    parent, command = int(arguments[0]), arguments[1:]
    # Threads of Ray's actors block SIGINT, and a child inherits that.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    kernel, keeper = ctypes.CDLL(None), os.getpid()

    def die_with_the_keeper() -> None:
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:  # it was too late to be told
            os._exit(1)

    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_the_keeper)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: program.send_signal(received))
    while program.poll() is None:
        if os.getppid() != parent:
            program.kill()
            program.wait()
            return 1
        time.sleep(_LOOK_S)
    status = program.returncode
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
