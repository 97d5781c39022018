#!/usr/bin/env python3
"""How fast a pool of judge services is: one service to as many as are asked for, one worker each, on Unix sockets of this machine, and the
same with services killed and started again meanwhile. Caches are new for each row; verdicts are compared with those of the first.
  scripts/judge_cluster.py [--kernels 120] [--services 4] [--kills 4] [--cores 1] [--program build/kernelwright]
Prints a page of results."""

import argparse
import os
import pathlib
import platform
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "world"))

import judge_services as world
import service_under_test


def machine():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} cores ({names[0] if names else platform.machine()}), load before {os.getloadavg()[0]:.1f}"


def wait_until_ready(service):
    """Without a library that knows Unix sockets: a batch of no kernels would not start them all."""
    import http.client
    import socket

    end = time.monotonic() + 600
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("localhost")
        try:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(service.socket)
            connection.request("GET", "/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.1)
    raise SystemExit("a service was not ready in time")


def cores_of(i, each, first):
    """Of service i: neighbours of its own, or all where there are not so many."""
    begin = first + i * each
    return set(range(begin, begin + each)) if each and begin + each <= os.cpu_count() else None


def row(folder, jobs, secret, count, kills, cores, first):
    services = [world.JudgeService(folder, f"s{i}", secret, cores=cores_of(i, cores, first)) for i in range(count)]
    try:
        for service in services:
            wait_until_ready(service)
        with world.Killer(services, pathlib.Path(folder) / "out.jsonl", world.spread(kills, len(jobs))) as killer:
            summary, verdicts = world.batch(folder, jobs, "out", "--judge-on", ",".join(service.address for service in services),
                                            "--judge-secret-file", secret)
    finally:
        for service in services:
            service.kill()
    return summary, {verdict["id"]: world.settled(verdict) for verdict in verdicts}, killer.killed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=120)
    parser.add_argument("--services", type=int, default=4)
    parser.add_argument("--kills", type=int, default=4, help="in the last row")
    parser.add_argument("--cores", type=int, default=0, help="of its own for each service, as if it were a machine; 0: all share all")
    parser.add_argument("--first-core", type=int, default=0, help="with --cores: of the first service")
    parser.add_argument("--program", default=service_under_test.PROGRAM)
    arguments = parser.parse_args()
    world.PROGRAM = os.path.abspath(arguments.program)
    with tempfile.TemporaryDirectory() as tasks:
        measure(arguments, world.kernels_for(tasks, arguments.kernels))


def measure(arguments, jobs):
    plans = [(count, 0) for count in range(1, arguments.services + 1)] + [(arguments.services, arguments.kills)]
    print(f"{machine()}. {arguments.kernels} kernels of {len(world.SMALL)} small tasks, emulator, one worker a service"
          f"{f', {arguments.cores} cores of its own each' if arguments.cores else ''}.\n")
    print("| services | killed | kernels/s | of one service | judged by each | the same verdicts |")
    print("| ---: | ---: | ---: | ---: | --- | --- |")
    first, one = None, None
    for count, kills in plans:
        with tempfile.TemporaryDirectory() as folder:
            secret = str(pathlib.Path(folder) / "secret")
            pathlib.Path(secret).write_text("a secret for a benchmark, long enough to be one\n")
            os.chmod(secret, 0o600)
            summary, verdicts, killed = row(folder, jobs, secret, count, kills, arguments.cores, arguments.first_core)
        first = first or verdicts
        rate = summary["judged"] / summary["seconds"]
        one = one or rate
        shares = ", ".join(str(each["answered"]) for each in summary["services"])
        print(f"| {count} | {killed} | {rate:.2f} | {rate / one:.2f} x | {shares} | {'yes' if verdicts == first else 'NO'} |", flush=True)


if __name__ == "__main__":
    main()
