#!/usr/bin/env python3
"""A real Prometheus asks a real service for /metrics, set up as compose.yaml sets it up: its configuration is taken from there, the key
is made as docs/container.md says. The targets page says up, the figures are there; with a wrong key the target is down."""

import hashlib
import json
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.parse
import urllib.request

from service_under_test import ROOT, service

if shutil.which("prometheus") is None:
    print("skipped: prometheus is not installed (apt-get install prometheus)")
    sys.exit(77)
passed = 0


def check(what, true):
    global passed
    assert true, what
    passed += 1


def configuration(target, key_file):
    """compose.yaml's, with this machine's address and key file, and impatient."""
    content = re.search(r"\n    content: \|\n((?:      .*\n|\n)+)", (ROOT / "compose.yaml").read_text())[1]
    text = textwrap.dedent(content)
    for old, new in (("kernelwright:8000", target), ("/run/secrets/prometheus_key", str(key_file)), ("15s", "1s")):
        assert text.count(old) == 1, f"compose.yaml no longer says {old}"
        text = text.replace(old, new)
    return text


class Prometheus:
    def __init__(self, folder, text):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        file = folder / "prometheus.yml"
        file.write_text(text)
        self.log = open(folder / "prometheus.log", "w+")
        self.process = subprocess.Popen(["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}",
                                         f"--web.listen-address={self.address}"], stdout=self.log, stderr=subprocess.STDOUT)

    def ask(self, path, **query):
        with urllib.request.urlopen(f"http://{self.address}{path}?{urllib.parse.urlencode(query)}") as answer:
            return json.load(answer)["data"]

    def until(self, what, true, seconds=300):
        """The first true value; the server needs a moment to come up and to ask."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, pathlib.Path(self.log.name).read_text()
            try:
                if found := true(self):
                    return found
            except urllib.error.URLError:
                pass
            time.sleep(0.2)
        raise AssertionError(f"{what}: not seen\n" + pathlib.Path(self.log.name).read_text()[-2000:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def target(prometheus):
    """The one target, as soon as it was asked once."""
    targets = prometheus.ask("/api/v1/targets")["activeTargets"]
    assert len(targets) <= 1, targets
    return targets[0] if targets and targets[0]["health"] != "unknown" else None


def value(expression):
    def asked(prometheus):
        result = prometheus.ask("/api/v1/query", query=expression)["result"]
        return result and result[0]["value"][1]
    return asked


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    key = secrets.token_hex(32)
    (folder / "key").write_text(key)
    (folder / "wrong").write_text(secrets.token_hex(32))
    (folder / "keys").write_text(f"prometheus {hashlib.sha256(key.encode()).hexdigest()}\n")
    with service("--api-key-file", str(folder / "keys")) as running:
        address = urllib.parse.urlsplit(running.address).netloc
        with Prometheus(folder, configuration(address, folder / "key")) as prometheus:
            seen = prometheus.until("the target", target)
            check(f"up: {seen}", seen["health"] == "up" and seen["lastError"] == "")
            check("as compose.yaml names it", seen["labels"]["job"] == "kernelwright")
            check("the metric up", prometheus.until("up", value("up{job='kernelwright'}")) == "1")
            for name in ("kernelwright_http_requests_total{status='2xx'}", "kernelwright_kernels_judged_total",
                         "kernelwright_batch_rows", "kernelwright_worker_deaths_total", "process_resident_memory_bytes"):
                check(name, float(prometheus.until(name, value(name))) >= 0)
            types = {name: what[0]["type"] for name, what in prometheus.ask("/api/v1/metadata").items()}
            check("types", types["kernelwright_http_request_duration_seconds"] == "histogram" and
                  types["kernelwright_worker_deaths_total"] == "counter")
        shutil.rmtree(folder / "data")
        with Prometheus(folder, configuration(address, folder / "wrong")) as prometheus:
            seen = prometheus.until("the target", target)
            check(f"a wrong key: {seen}", seen["health"] == "down" and "401" in seen["lastError"])
print(f"{passed} passed, 0 failed")
