#!/usr/bin/env python3
"""Episodes through verifiers: its own runner (vf-eval) plays our taskset against the tiny model behind our service; then every reward
is compared with the judge's.

    scripts/framework_run.sh verifiers python/examples/verifiers_episodes.py --episodes 50
"""

import argparse
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import kernelwright as kw
from kernelwright.scoring import answer_text, task_of_row


@contextlib.contextmanager
def agents():
    """A service with the tiny model on a port, because vf-eval speaks OpenAI's API over TCP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([kw.find_program(), "serve", "--listen", address, "--model", "tiny", "--quiet"],
                                   env={**os.environ, "KERNELWRIGHT_RUNS": folder})
        try:
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait()


def judged_again(judge, data, replies, turns, shape):
    course = kw.Environment(task_of_row(data["task"]), judge=judge, turns=turns, reward=shape, style="compact", words="learned")
    course.reset()
    return [course.step(reply).reward for reply in replies]


def replies_of(trace):
    """What the model said, in order."""
    return [answer_text([{"role": "assistant", "content": node["message"].get("content")}]).strip()
            for node in trace["nodes"] if node["message"].get("role") == "assistant"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--at-a-time", type=int, default=4)
    arguments = parser.parse_args()
    with agents() as url, tempfile.TemporaryDirectory() as folder:
        kw.Service(url).request("GET", "/v1/tasks")  # waits until it is ready
        begin = time.perf_counter()
        subprocess.run(["vf-eval", "kernelwright_verifiers", "--env.taskset.style", "compact", "--env.taskset.words", "learned",
                        "--env.turns", str(arguments.turns), "--model", "tiny", "--client.base-url", url + "/v1",
                        "--client.api-key-var", "KERNELWRIGHT_NO_KEY", "--sampling.temperature", "0.7", "--sampling.max-tokens", "600",
                        "-n", str(arguments.episodes), "-c", str(arguments.at_a_time), "--no-push", "--no-rich",
                        "--output-dir", folder, "--run.name", "episodes"],
                       check=True, env={**os.environ, "KERNELWRIGHT_URL": url}, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        lines = (pathlib.Path(folder) / "episodes" / "traces.jsonl").read_text().splitlines()
        traces = [trace for line in lines for trace in json.loads(line).get("traces", [json.loads(line)])]
        judge = kw.Judge(url)
        equal, rewards = 0, []
        for trace in traces:
            again = judged_again(judge, trace["task"]["data"], replies_of(trace), arguments.turns, "weighted")
            equal += trace["info"]["turn_rewards"] == again and abs(trace["rewards"]["kernel"]["score"] - max(again)) < 1e-12
            rewards += again
        print(f"{len(traces)} episodes, {len(rewards)} answers, {equal} episodes with the judge's own rewards, "
              f"mean reward {sum(rewards) / max(1, len(rewards)):.3f}, {seconds:.0f} s")
        if equal != arguments.episodes:
            raise SystemExit("rewards differ")


if __name__ == "__main__":
    main()
