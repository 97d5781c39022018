#!/usr/bin/env python3
"""How much a service on this machine takes: many streams at once, kernels judged through HTTP against `judge --batch`, latencies.

  scripts/service_load.py [--streams 1000] [--tokens 200] [--kernels 200]

Writes tables to standard output; bench/results/service.md has them. Starts a service of its own and ends it."""

import argparse
import asyncio
import http.client
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "world"))
from service_under_test import PROGRAM, ROOT, service


async def stream(address, tokens, seed, started):
    """One streamed answer: how long until its first token and its end, and how many tokens it had."""
    host, port = urllib.parse.urlsplit(address).netloc.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    # The bare model at temperature 1, so that answers differ; the longest ones count.
    body = json.dumps({"model": "tiny", "prompt": "__global__ void kernel(", "max_tokens": tokens, "temperature": 1, "seed": seed,
                       "stream": True, "stream_options": {"include_usage": True}}).encode()
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                 % len(body) + body)
    first = done = None
    generated = 0
    async for line in reader:
        if not line.startswith(b"data: "):
            continue
        first = first or time.monotonic() - started
        if line.startswith(b"data: [DONE]"):
            done = time.monotonic() - started
            break
        if (usage := json.loads(line[6:]).get("usage")):
            generated = usage["completion_tokens"]
    writer.close()
    return first, done, generated


def memory_mib(running):
    status = pathlib.Path(f"/proc/{running.process.pid}/status").read_text()
    return {key: int(status.split(key + ":")[1].split()[0]) / 1024 for key in ("VmRSS", "VmHWM")}


async def many_streams(running, count, tokens):
    before = memory_mib(running)["VmRSS"]
    started = time.monotonic()
    answers = await asyncio.gather(*(stream(running.address, tokens, seed, started) for seed in range(count)), return_exceptions=True)
    lost = [answer for answer in answers if isinstance(answer, BaseException) or answer[1] is None]
    good = [answer for answer in answers if answer not in lost]
    total = sum(answer[2] for answer in good)
    seconds = max(answer[1] for answer in good)
    print(f"{count} streams at once, at most {tokens} tokens each: {len(good)} to their end, {len(lost)} lost; {total} tokens in "
          f"{seconds:.1f} s, {total / seconds:.0f} tok/s")
    print(f"first token after {statistics.median(a[0] for a in good):.1f} s (median), {max(a[0] for a in good):.1f} s (last)")
    print(f"memory of the service: {before:.0f} MiB before, {memory_mib(running)['VmHWM']:.0f} MiB at most")
    assert not lost, lost[:3]


def kernels_of(count):
    """Kernels that nobody has judged yet: a constant of their own in a comment-free place."""
    text = (ROOT / "examples" / "softmax_shared.cu").read_text()
    mark = time.time_ns()
    return [text + f"\n__device__ int unused_{mark}_{i} = {i};\n" for i in range(count)]


def through_http(running, kernels):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(running.address).netloc, timeout=3600)
    body = json.dumps({"task": "softmax", "kernels": [{"id": str(i), "kernel": k} for i, k in enumerate(kernels)], "stream": True})
    started = time.monotonic()
    connection.request("POST", "/v1/judge", body, {"Content-Type": "application/json"})
    text = connection.getresponse().read().decode()
    seconds = time.monotonic() - started
    assert text.count("event: verdict") == len(kernels)
    return len(kernels) / seconds


def by_batch(kernels):
    with tempfile.TemporaryDirectory() as folder:
        jobs = pathlib.Path(folder) / "jobs.jsonl"
        jobs.write_text("".join(json.dumps({"id": str(i), "task": "softmax", "kernel": k}) + "\n" for i, k in enumerate(kernels)))
        started = time.monotonic()
        subprocess.run([PROGRAM, "judge", "--batch", str(jobs), "--out", str(pathlib.Path(folder) / "out.jsonl")], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return len(kernels) / (time.monotonic() - started)


def latencies(running, kernels):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(running.address).netloc, timeout=3600)
    for what, texts in (("new", kernels), ("cached", kernels * 4)):
        times = []
        for text in texts:
            started = time.monotonic()
            connection.request("POST", "/v1/judge", json.dumps({"task": "softmax", "kernel": text}), {"Content-Type": "application/json"})
            connection.getresponse().read()
            times.append(1000 * (time.monotonic() - started))
        times.sort()
        print(f"/v1/judge, one {what} kernel at a time: p50 {times[len(times) // 2]:.1f} ms, p99 {times[int(len(times) * 0.99)]:.1f} ms "
              f"({len(times)} requests)")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--streams", type=int, default=1000)
    options.add_argument("--tokens", type=int, default=200)
    options.add_argument("--kernels", type=int, default=200)
    asked = options.parse_args()
    with service("--quiet") as running:
        asyncio.run(many_streams(running, asked.streams, asked.tokens))
        through_http(running, kernels_of(4))  # the task's references are made once
        rates = {"http": [], "batch": []}
        for _ in range(3):
            rates["batch"].append(by_batch(kernels_of(asked.kernels)))
            rates["http"].append(through_http(running, kernels_of(asked.kernels)))
        for way, all_rates in rates.items():
            print(f"judged by {way}: {statistics.median(all_rates):.2f} kernels/s (of {', '.join(f'{r:.2f}' for r in all_rates)})")
        latencies(running, kernels_of(40))


main()
