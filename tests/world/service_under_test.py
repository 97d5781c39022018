"""A real `kernelwright serve` for a test: started on a free port, ended with SIGTERM."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KERNELWRIGHT_PROGRAM", str(ROOT / "build" / "kernelwright"))


class Service:
    def __init__(self, folder, *arguments):
        self.folder = folder
        environment = dict(os.environ, KERNELWRIGHT_RUNS=folder)
        self.process = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0", *arguments],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)
        self.said = []
        self.address = None
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"listening on (http\S+);", line):
                self.address = found[1]
                break
        assert self.address, "".join(self.said)
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()

    def wait_until_ready(self, seconds=600):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, "".join(self.said)
            try:
                with urllib.request.urlopen(self.address + "/ready") as answer:
                    return answer.read()
            except urllib.error.HTTPError as problem:
                assert problem.code == 503, problem
                time.sleep(0.1)
        raise AssertionError("not ready in time")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=300) == 0, "".join(self.said)

    def kill(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def service(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        running = Service(folder, *arguments)
        try:
            running.wait_until_ready()
            yield running
            running.end()
        finally:
            if running.process.poll() is None:
                running.kill()
