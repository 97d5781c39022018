#!/usr/bin/env python3
"""Does the real TensorBoard read what a run wrote?

    python -m venv tb && tb/bin/pip install tensorboard
    tb/bin/python scripts/check_tensorboard.py runs/NAME

Compares metrics.jsonl with what TensorBoard's own reader finds in the event files and with what its web server answers.
"""
import json
import math
import pathlib
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import numpy
from tensorboard import version
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def logged(folder):
    scalars, texts = {}, {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        step = row.pop("step")
        if "text" in row:
            texts.setdefault(row["tag"], []).append((step, row["text"]))
            continue
        for tag, value in row.items():
            scalars.setdefault(tag, []).append((step, float(numpy.float32(float(value)))))
    return scalars, texts


def same(one, other):
    return len(one) == len(other) and all(
        a[0] == b[0] and (a[1] == b[1] or (math.isnan(a[1]) and math.isnan(b[1]))) for a, b in zip(one, other))


def check_reader(folder, scalars, texts):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    assert sorted(tags["scalars"]) == sorted(scalars), (sorted(tags["scalars"]), sorted(scalars))
    for tag, expected in scalars.items():
        found = [(event.step, event.value) for event in events.Scalars(tag)]
        assert same(sorted(found, key=lambda e: e[0]), sorted(expected, key=lambda e: e[0])), tag
    assert sorted(tags["tensors"]) == sorted(texts), tags["tensors"]
    for tag, expected in texts.items():
        found = [(event.step, event.tensor_proto.string_val[0].decode()) for event in events.Tensors(tag)]
        assert found == expected, tag
        assert events.SummaryMetadata(tag).plugin_data.plugin_name == "text"


def check_server(folder, scalars, texts):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--port", str(port), "--load_fast=false"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/data/{path}", timeout=10) as answer:
            return json.load(answer)

    try:
        for _ in range(120):
            try:
                found = ask("plugin/scalars/tags")
                if found and sorted(next(iter(found.values()))) == sorted(scalars):
                    break
            except OSError:
                pass
            time.sleep(0.5)
        else:
            raise SystemExit("TensorBoard's server does not show the scalars")
        run, tags = next(iter(found.items()))
        for tag in tags:
            query = urllib.parse.urlencode({"run": run, "tag": tag})
            assert len(ask(f"plugin/scalars/scalars?{query}")) >= min(1000, len(scalars[tag])), tag
        shown = ask("plugin/text/tags")
        assert sorted(tag for tags in shown.values() for tag in tags) == sorted(texts), shown
    finally:
        server.terminate()
        server.wait()


def main():
    folder = pathlib.Path(sys.argv[1])
    scalars, texts = logged(folder)
    check_reader(folder, scalars, texts)
    check_server(folder, scalars, texts)
    points = sum(len(series) for series in scalars.values())
    print(f"TensorBoard {version.VERSION} reads {len(scalars)} metrics, {points} points and "
          f"{sum(len(series) for series in texts.values())} texts of {folder.name} as they were logged")


if __name__ == "__main__":
    main()
