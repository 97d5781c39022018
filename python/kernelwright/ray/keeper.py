"""Runs a program as long as the process that asked for it lives: python -m kernelwright.ray.keeper PARENT COMMAND...

An actor that Ray kills (SIGKILL, a lost node) cannot end its child. This process can: it sees that its parent is another one now.
SIGINT and SIGTERM are passed on, and the program's exit status is this process's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

_LOOK_S = 0.1


def main(arguments: list[str]) -> int:
    parent, command = int(arguments[0]), arguments[1:]
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
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
