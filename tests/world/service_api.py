#!/usr/bin/env python3
"""Our own API against a real service, with Python's standard library alone: judge, conversations that survive kill -9, tasks, runs,
experiments, keys, the page, metrics, and whether the OpenAPI document names what the server does.
  tests/world/service_api.py [--conversations 100]     how many go on when the service is killed; 10 unless given"""

import argparse
import hashlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from service_under_test import PROGRAM, ROOT, Service, service

passed = 0
GOOD = (ROOT / "examples" / "softmax_shared.cu").read_text()
RACE = (ROOT / "tests" / "bugs" / "softmax_sync_missing_before_read.cu").read_text()
OWN = """pytorch: |
  def reference(x, gate):
      return x * torch.sigmoid(gate)
inputs:
  x:    {dtype: float32, shape: [64, 128]}
  gate: {dtype: float32, shape: [64, 128]}
outputs:
  y:    {dtype: float32, shape: [64, 128]}
"""


def two_arms(name, agents="tiny"):
    """An experiment of everybody: half of the users get tiny, half the others."""
    return (f"name: {name}\narms:\n  - {{name: control, agents: tiny, weight: 0.5}}\n"
            f"  - {{name: new, agents: {agents}, weight: 0.5}}\nramp: [100]\n")


def check(what, true):
    global passed
    assert true, what
    passed += 1


def connect(running):
    return http.client.HTTPConnection(urllib.parse.urlsplit(running.address).netloc, timeout=600)


def call(running, method, path, body=None, headers={}):
    """Status, headers and JSON (or text) of one request."""
    connection = connect(running)
    data = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
    connection.request(method, path, data, {"Content-Type": "application/json", **headers} if body is not None else headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    json_answer = answer.headers.get("Content-Type", "").startswith("application/json")
    return answer.status, answer.headers, json.loads(text) if json_answer else text


def events(running, method, path, body=None, headers={}, until=None):
    """Events of a stream as (id, name, data); `until` ends the connection early."""
    connection = connect(running)
    connection.request(method, path, json.dumps(body) if body is not None else None,
                       {"Content-Type": "application/json", **headers} if body is not None else headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    event = {}
    for line in answer:
        line = line.decode().rstrip("\n")
        if line.startswith(":"):
            continue
        if line:
            key, _, value = line.partition(": ")
            event[key] = event.get(key, "") + value
            continue
        if "data" in event:
            one = (int(event.get("id", 0)), event.get("event"), json.loads(event["data"]))
            yield one
            if until and until(one):
                break
        event = {}
    connection.close()


def judging(running):
    status, _, one = call(running, "POST", "/v1/judge", {"task": "softmax", "kernel": GOOD})
    check("a right kernel", status == 200 and one["verdict"]["status"] == "correct" and one["verdict"]["time_us"] > 0)
    status, _, one = call(running, "POST", "/v1/judge", {"task": "softmax", "kernel": RACE})
    check("a race", one["verdict"]["status"] == "race" and one["verdict"]["findings"][0]["line"] == 20)
    kernels = [{"id": str(i), "kernel": GOOD if i % 2 else RACE} for i in range(40)]
    status, _, many = call(running, "POST", "/v1/judge", {"task": "softmax", "kernels": kernels})
    check("many, in order", [r["id"] for r in many["results"]] == [str(i) for i in range(40)])
    check("each its own", all(r["verdict"]["correct"] == bool(int(r["id"]) % 2) for r in many["results"]))
    streamed = list(events(running, "POST", "/v1/judge", {"task": "softmax", "kernels": kernels, "stream": True}))
    check("streamed", sorted(int(e[2]["id"]) for e in streamed[:-1]) == list(range(40)))
    check("with an end", streamed[-1][1:] == ("end", {"count": 40}))
    wrong = "extern \"C\" void launch() {}"
    status, _, own = call(running, "POST", "/v1/judge", {"task": {"yaml": OWN}, "kernel": wrong})
    check("a task of one's own", status == 200 and not own["verdict"]["correct"])
    for body, param in [({"task": "sofmax", "kernel": GOOD}, "task"), ({"task": "softmax"}, "kernel"),
                        ({"kernel": GOOD}, "task"), ({"task": {"yaml": "pytorch: ["}, "kernel": GOOD}, "task"),
                        ({"task": "/etc/passwd", "kernel": GOOD}, "task"), ({"task": "softmax", "kernels": []}, "kernels"),
                        ({"task": "softmax", "kernel": "x" * 1100000}, "kernel")]:
        status, _, problem = call(running, "POST", "/v1/judge", body)
        check(f"refused: {param}", status == 400 and problem["error"]["param"] == param)
    for body in ["", "{", "[]", "null", b"\xff\xfe", "[" * 100000]:
        check("not JSON", call(running, "POST", "/v1/judge", body)[0] == 400)
    # A long task for thousands of kernels: it is not copied for each of them.
    large = {"task": {"yaml": "#" * 7_000_000}, "kernels": [{"kernel": "x"}] * 4000}
    check("a task that is too long", call(running, "POST", "/v1/judge", large)[0] == 400)
    peak = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{running.process.pid}/status").read())[1]) // 1024
    check(f"memory stays bounded: {peak} MiB", peak < 2000)


def paying(running):
    """Rewards, answers and prompts: what people who train models of their own need."""
    fenced = f"Strategy: shared memory.\n```cuda\n{GOOD}```\n"
    status, _, one = call(running, "POST", "/v1/judge", {"task": "softmax", "answer": fenced, "reward": "weighted"})
    check("an answer", status == 200 and one["verdict"]["correct"] and one["answer"]["outcome"] == "kernel")
    check("its reward", one["reward"]["judged"] and one["reward"]["total"] > 0.6 and one["reward"]["shape"] == "weighted")
    check("its terms", abs(sum(t["points"] for t in one["reward"]["terms"]) - one["reward"]["total"]) < 1e-9)
    asked = {"shape": "weighted", "role": "optimizer", "given": one["verdict"]}
    status, _, again = call(running, "POST", "/v1/judge", {"task": "softmax", "kernel": GOOD, "reward": asked})
    check("no improvement over itself", [t["points"] for t in again["reward"]["terms"] if t["name"] == "improvement"] == [0])
    status, _, race = call(running, "POST", "/v1/judge", {"task": "softmax", "kernel": RACE, "reward": "gated"})
    check("a race is worth nothing", race["reward"]["total"] == 0 and race["reward"]["zeroed"])
    check("ranks order kernels", one["rank"] > race["rank"])
    status, _, words = call(running, "POST", "/v1/judge", {"task": "softmax", "answer": "I cannot do that.", "reward": "final"})
    check("no kernel", status == 200 and words["verdict"] is None and words["answer"]["outcome"] == "no_code")
    check("and no reward", words["reward"]["total"] == 0 and words["reward"]["judged"])
    many = {"task": "softmax", "reward": "gated", "kernels": [{"answer": fenced}, {"answer": "no"}, {"kernel": RACE}]}
    results = call(running, "POST", "/v1/judge", many)[2]["results"]
    check("in lists", [r["reward"]["total"] > 0 for r in results] == [True, False, False])
    for body, param in [({"task": "softmax", "kernel": GOOD, "answer": GOOD}, "answer"),
                        ({"task": "softmax", "kernel": GOOD, "words": "x"}, "words"),
                        ({"task": "softmax", "kernel": GOOD, "reward": "generous"}, "reward"),
                        ({"task": "softmax", "kernel": GOOD, "reward": {"given": {"status": "x"}}}, "reward")]:
        status, _, problem = call(running, "POST", "/v1/judge", body)
        check(f"refused: {param}", status == 400 and problem["error"]["param"] == param)

    status, _, prompt = call(running, "POST", "/v1/prompt", {"task": "softmax"})
    check("a prompt", status == 200 and prompt["role"] == "generator" and [m["role"] for m in prompt["messages"]] == ["system", "user"])
    check("in the task's words", "torch.softmax(x, -1)" in prompt["messages"][1]["content"])
    status, _, prompt = call(running, "POST", "/v1/prompt", {"task": "softmax", "kernel": RACE, "verdict": race["verdict"]})
    check("the Optimizer's", prompt["role"] == "optimizer" and "Verdict: race" in prompt["text"] and "line 20" in prompt["text"])
    tried = [{"kernel": GOOD, "status": "correct", "speedup": 2.5}]
    status, _, prompt = call(running, "POST", "/v1/prompt", {"task": "softmax", "kernel": RACE, "verdict": race["verdict"], "tried": tried})
    check("what was tried", "Tried before" in prompt["text"])
    status, _, prompt = call(running, "POST", "/v1/prompt", {"task": {"yaml": OWN}, "words": "learned", "style": "compact"})
    check("compact", status == 200 and prompt["text"].startswith("<|gen|>") and not prompt["messages"])
    for body, param in [({}, "task"), ({"task": "softmax", "role": "king"}, "role"), ({"task": "softmax", "style": "verse"}, "style"),
                        ({"task": "softmax", "level": "fastest"}, "level"), ({"task": "softmax", "tried": [3]}, "tried"),
                        ({"task": "softmax", "kernel": RACE, "verdict": {}}, "verdict"),
                        ({"task": "relu", "kernel": RACE, "verdict": race["verdict"]}, "verdict"), ({"task": "nothing"}, "task")]:
        status, _, problem = call(running, "POST", "/v1/prompt", body)
        check(f"refused: {param}", status == 400 and problem["error"]["param"] == param)
    check("a verdict is needed", call(running, "POST", "/v1/prompt", {"task": "softmax", "kernel": RACE})[0] == 400)
    check("an answer is read", call(running, "POST", "/v1/answer", {"answer": fenced})[2]["kernel"].strip() == GOOD.strip())
    check("there is none", call(running, "POST", "/v1/answer", {})[0] == 400)
    drawn = call(running, "POST", "/v1/draw", {"seed": 5, "first": 10, "count": 3, "families": ["softmax"]})[2]["tasks"]
    check("tasks are drawn", [one["index"] for one in drawn] == [10, 11, 12] and drawn[0]["task"]["family"] == "softmax")
    again = call(running, "POST", "/v1/draw", {"seed": 5, "first": 12, "families": ["softmax"]})[2]["tasks"]
    check("always the same", again == drawn[2:])
    own = {"task": {"yaml": json.dumps(drawn[0]["task"])}, "kernel": drawn[0]["task"]["naive"]}
    check("a drawn task is judged", call(running, "POST", "/v1/judge", own)[2]["verdict"]["status"] == "correct")
    for wrong in ({"split": "suite"}, {"count": 257}, {"families": ["nothing"]}, {"split": "novel", "families": ["softmax"]}, {"seed": -1}):
        check(f"refused: {wrong}", call(running, "POST", "/v1/draw", wrong)[0] == 400)


def talking(running):
    ask = {"task": "softmax", "turns": 2, "samples": 2, "seed": 3, "stream": True}
    told = list(events(running, "POST", "/v1/optimize", ask))
    names = [name for _, name, _ in told]
    check("begins and ends", names[0] == "begin" and names[-1] == "end")
    check("two turns", names.count("turn") <= 2 and names.count("question") == names.count("turn"))
    check("text as it comes", "text" in names)
    kept = [one for one in told if one[0] > 0]
    check("ids count up", [one[0] for one in kept] == list(range(1, len(kept) + 1)))
    best = told[-1][2]["best"]
    check("a kernel", best and "__global__" in best["kernel"] and best["speedup"] > 0)
    identity = told[0][2]["id"]
    again = list(events(running, "GET", f"/v1/conversations/{identity}/events", headers={"Last-Event-ID": "3"}))
    check("the rest after the third", again == kept[3:])
    status, _, whole = call(running, "GET", f"/v1/conversations/{identity}")
    check("as one object", whole["state"] == "ended" and whole["best"] == best)
    del ask["stream"]
    status, _, once = call(running, "POST", "/v1/optimize", ask)
    check("the same without a stream", once["best"]["kernel"] == best["kernel"] and once["id"] != identity)
    status, _, made = call(running, "POST", "/v1/generate", {"task": {"yaml": OWN}})
    check("generate", status == 200 and len(made["turns"]) == 1 and made["turns"][0]["role"] == "generator")
    status, _, listed = call(running, "GET", "/v1/conversations")
    check("listed, the newest first", [c["id"] for c in listed["conversations"]][1:] == [once["id"], identity])

    chosen = {"task": "softmax", "turns": 1, "samples": 1, "stream": True, "id": "conv-" + os.urandom(16).hex()}
    told = list(events(running, "POST", "/v1/optimize", chosen))
    check("an id of the client's", told[0][2]["id"] == chosen["id"])
    check("asked again, the same conversation", list(events(running, "POST", "/v1/optimize", chosen)) == [one for one in told if one[0] > 0])
    check("another request with that id", call(running, "POST", "/v1/optimize", {**chosen, "turns": 2})[0] == 409)
    check("an id that can be guessed", call(running, "POST", "/v1/optimize", {**chosen, "id": "conv-1"})[0] == 400)

    stream = events(running, "POST", "/v1/optimize", {"task": "softmax", "turns": 20, "samples": 8, "seed": 5, "stream": True})
    identity = next(stream)[2]["id"]
    check("cancelled", call(running, "DELETE", f"/v1/conversations/{identity}")[2]["state"] == "cancelled")
    check("and over", list(stream)[-1][2]["end"] == "cancelled")
    check("no such one", call(running, "GET", "/v1/conversations/conv-0")[0] == 404)
    for body, param in [({"task": "softmax", "turns": 0}, "turns"), ({"task": "softmax", "level": "fastest"}, "level"),
                        ({}, "task"), ({"task": "softmax", "samples": "many"}, "samples"),
                        ({"task": "softmax", "model": "gpt"}, "model"),
                        ({"task": {"yaml": OWN.replace("torch.sigmoid", "torch.no_such")}}, "task")]:
        status, _, problem = call(running, "POST", "/v1/optimize", body)
        check(f"refused: {param}", status in (400, 404) and problem["error"]["param"] == param)


def looking(running):
    status, _, tasks = call(running, "GET", "/v1/tasks")
    check("tasks", any(t["name"] == "softmax" and "softmax" in t["pytorch"] for t in tasks["tasks"]))
    check("a task", "pytorch" in call(running, "GET", "/v1/tasks/softmax")[2]["yaml"])
    check("no such task", call(running, "GET", "/v1/tasks/nothing")[0] == 404)
    check("no runs yet", call(running, "GET", "/v1/runs") [2] == {"runs": []})
    status, headers, page = call(running, "GET", "/")
    check("the page", status == 200 and "<!doctype html>" in page.lower())
    check("its policy", "script-src 'self'" in headers["Content-Security-Policy"])
    for path in set(re.findall(r'(?:src|href)="(/page/[^"]+)"', page)):
        check(path, call(running, "GET", path)[0] == 200)
    for path in ["/page/../openapi.json", "/page/%2e%2e/README.md", "/page//etc/passwd", "/page/nothing.js"]:
        check(path, call(running, "GET", path)[0] in (400, 404))
    status, headers, metrics = call(running, "GET", "/metrics")
    check("metrics", "text/plain" in headers["Content-Type"] and 'kernelwright_verdicts_total{status="correct"}' in metrics)
    check("every family once", (families := re.findall(r"# TYPE (\S+)", metrics)) and len(families) == len(set(families)))
    status, _, now = call(running, "GET", "/v1/service")
    check("the service", now["ready"] and now["model"]["name"] == "tiny" and now["requests"]["total"] > 10)
    document = call(running, "GET", "/openapi.json")[2]
    check("OpenAPI", document["openapi"] == "3.1.0")
    for path, methods in document["paths"].items():
        real = re.sub(r"{\w+}", "nothing", path)
        allowed = call(running, "OPTIONS", real)[1].get("Allow", "").replace(" ", "").split(",")
        check(f"{path} {allowed}", {m.upper() for m in methods} <= set(allowed))
    for origin, status in (("http://evil.example", 403), ("null", 403), (running.address, 200)):
        check(f"from {origin}", call(running, "POST", "/v1/judge", {"task": "softmax", "kernel": GOOD}, {"Origin": origin})[0] == status)
    check("another name for this machine", call(running, "GET", "/v1/tasks", headers={"Host": "evil.example"})[0] == 421)
    check("no other path", call(running, "GET", "/v1/nothing")[0] == 404)
    check("no other method", call(running, "PUT", "/v1/tasks")[0] == 405)


def experiments(running):
    status, _, made = call(running, "POST", "/v1/experiments", {"yaml": two_arms("night"), "actor": "ada"})
    check(f"an experiment: {made}", status == 200 and made["state"] == "draft")
    check("started", call(running, "POST", "/v1/experiments/night/start", {"actor": "ada"})[2]["state"] == "running")
    for i in range(4):
        call(running, "POST", "/v1/generate", {"task": "relu", "user": f"user-{i}"})
    for _ in range(1200):  # an outcome is counted after its answer was sent
        shown = call(running, "GET", "/v1/experiments/night")[2]
        if sum(arm["requests"] for arm in shown["arms"]) == 4:
            break
        time.sleep(0.1)
    check("outcomes are counted", sum(arm["requests"] for arm in shown["arms"]) == 4)
    metrics = call(running, "GET", "/metrics")[2]
    counted = re.findall(r'kernelwright_experiment_outcomes_total{experiment="night",arm="(\w+)"} (\d+)', metrics)
    check(f"arms in the metrics: {counted}", {name: int(n) for name, n in counted} ==
          {arm["name"]: arm["requests"] for arm in shown["arms"]})
    check("listed", call(running, "GET", "/v1/experiments")[2]["experiments"][0]["name"] == "night")
    stopped = call(running, "POST", "/v1/experiments/night/abort", {"actor": "ada", "reason": "enough"})[2]
    check("aborted, with a trail", stopped["state"] == "aborted")
    check("bad definition", call(running, "POST", "/v1/experiments", {"yaml": "name: ["})[0] == 400)
    check("no such one", call(running, "GET", "/v1/experiments/nothing")[0] == 404)


def arms():
    """What the operator loaded stays when an experiment with it is over; an arm that cannot be loaded fails, and its users are served."""
    other = str(ROOT / "weights" / "tiny")
    with service("--model", "tiny", "--model", other) as running:
        check("created", call(running, "POST", "/v1/experiments", {"yaml": two_arms("known", other)})[0] == 200)
        check("started", call(running, "POST", "/v1/experiments/known/start", {})[0] == 200)
        call(running, "POST", "/v1/generate", {"task": "relu", "user": "ada"})
        check("aborted", call(running, "POST", "/v1/experiments/known/abort", {"reason": "over"})[0] == 200)
        call(running, "POST", "/v1/generate", {"task": "relu", "user": "ada"})
        models = [model["id"] for model in call(running, "GET", "/v1/models")[2]["data"]]
        check(f"both sets are still there: {models}", "tiny" in models and other in models)
        # The command line starts an experiment without loading its agents.
        file = pathlib.Path(running.folder) / "missing.yaml"
        file.write_text(two_arms("missing", "/nonexistent/agents"))
        check("refused by the service", call(running, "POST", "/v1/experiments", {"yaml": file.read_text()})[0] == 200 and
              call(running, "POST", "/v1/experiments/missing/start", {})[0] == 400)
        file.write_text(two_arms("gone", "/nonexistent/agents"))
        subprocess.run([PROGRAM, "experiment", "create", str(file), "--start"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, KERNELWRIGHT_RUNS=running.folder))
        for i in range(8):
            made = call(running, "POST", "/v1/generate", {"task": "relu", "user": f"user-{i}"})[2]
            check("served all the same", made["state"] == "ended" and made["end"] != "error")
        for _ in range(1200):
            shown = {arm["name"]: arm for arm in call(running, "GET", "/v1/experiments/gone")[2]["arms"]}
            if sum(arm["requests"] for arm in shown.values()) == 8:
                break
            time.sleep(0.1)
        check(f"its requests are errors of the arm: {shown}", shown["new"]["requests"] > 0 and shown["new"]["metrics"]["error"] == 1)
        check("and not of the other", shown["control"]["metrics"]["error"] == 0)


def worker_deaths(running):
    """Compilers that are killed are replaced, and counted."""
    def deaths():
        return int(re.search(r'kernelwright_worker_deaths_total{kind="compiler"} (\d+)', call(running, "GET", "/metrics")[2])[1])
    new = {"task": "softmax", "kernel": GOOD + f"\n__global__ void new_{time.time_ns()}() {{}}\n"}  # known kernels need no compiler
    check("something to compile", call(running, "POST", "/v1/judge", new)[2]["verdict"]["status"] == "correct")
    before = deaths()
    children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(running.process.pid)], capture_output=True, text=True).stdout
    compilers = [int(line.split()[0]) for line in children.splitlines() if "--compile-worker" in line]
    check(f"compilers are there: {children}", compilers)
    for pid in compilers:
        os.kill(pid, signal.SIGKILL)
    kernel = GOOD + f"\n__global__ void another_{time.time_ns()}() {{}}\n"  # a name of its own: comments are no difference
    verdict = call(running, "POST", "/v1/judge", {"task": "softmax", "kernel": kernel})[2]["verdict"]
    check("judged all the same", verdict["status"] == "correct")
    check("deaths are counted", deaths() > before)


def killed(conversations):
    """kill -9 in the middle of conversations and an experiment: what was heard is still there, and they go on under their ids."""
    with tempfile.TemporaryDirectory() as folder:
        first = Service(folder)
        first.wait_until_ready()
        heard = {}
        call(first, "POST", "/v1/experiments", {"yaml": two_arms("night")})
        check("an experiment", call(first, "POST", "/v1/experiments/night/start", {})[0] == 200)

        def talk(seed):
            ask = {"task": "softmax", "turns": 4, "samples": 4, "seed": seed, "user": f"user-{seed}", "stream": True}
            try:
                for one in events(first, "POST", "/v1/optimize", ask):
                    heard.setdefault(seed, []).append(one)
                    if one[1] == "turn":
                        turned.release()
            except (OSError, http.client.HTTPException):
                pass

        turned = threading.Semaphore(0)
        threads = [threading.Thread(target=talk, args=(seed,)) for seed in range(conversations)]
        for thread in threads:
            thread.start()
        for _ in range(conversations * 6 // 10):
            turned.acquire()
        while len(heard) < conversations:  # each has begun
            time.sleep(0.05)
        first.kill()
        for thread in threads:
            thread.join()
        second = Service(folder)
        try:
            second.wait_until_ready()
            for seed, before in heard.items():
                identity = before[0][2]["id"]
                kept = [one for one in before if one[0] > 0]
                after = list(events(second, "GET", f"/v1/conversations/{identity}/events"))
                check("nothing that was heard is lost", after[:len(kept)] == kept)
                check("it ends", after[-1][1] == "end" and after[-1][2]["end"] != "error")
            check("all of them", len(heard) == conversations)
            for _ in range(1200):
                shown = call(second, "GET", "/v1/experiments/night")[2]
                if shown["requests_without_outcome"] == 0:
                    break
                time.sleep(0.1)
            users, outcomes = (sum(arm[key] for arm in shown["arms"]) for key in ("users", "requests"))
            check(f"every exposure is there, and its outcome: {users}, {outcomes}", users == conversations == outcomes)
            second.end()
        finally:
            second.kill()


def stopped():
    """SIGTERM while a long conversation goes on: it is cut after the time for it, and the next service ends it."""
    with tempfile.TemporaryDirectory() as folder:
        first = Service(folder, "--drain-seconds", "1")
        first.wait_until_ready()
        ask = {"task": "layer_norm", "turns": 3, "samples": 8, "seed": 2, "temperature": 1, "stream": True}
        stream = events(first, "POST", "/v1/optimize", ask)
        identity = next(stream)[2]["id"]
        first.end()
        check("cut", any("cut" in line for line in first.said) or list(stream)[-1][1] == "end")
        second = Service(folder)
        try:
            second.wait_until_ready()
            told = list(events(second, "GET", f"/v1/conversations/{identity}/events"))
            check("it ends under its id", told[0][2]["id"] == identity and told[-1][1] == "end" and told[-1][2]["end"] != "error")
            second.end()
        finally:
            second.kill()


def orphaned():
    """A service that was started by a program ends with it, also when that is killed."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "log").touch()
        # A shell that starts the service and says its number; then it is killed.
        start = f"'{PROGRAM}' serve --socket {folder}/kw.sock --no-agents --quiet --end-with $$ 2>{folder}/log & echo $!; wait"
        shell = subprocess.Popen(["sh", "-c", start], stdout=subprocess.PIPE, text=True, env=dict(os.environ, KERNELWRIGHT_RUNS=folder))
        child = int(shell.stdout.readline())
        end = time.monotonic() + 600
        while "ready" not in pathlib.Path(folder, "log").read_text() and time.monotonic() < end:
            time.sleep(0.1)
        shell.kill()
        shell.wait()
        while time.monotonic() < end:
            try:
                if pathlib.Path(f"/proc/{child}/stat").read_text().split(")")[-1].split()[0] == "Z":
                    break  # nobody waits for it: it is over
            except OSError:
                break
            time.sleep(0.1)
        check("it ended", "ended" in pathlib.Path(folder, "log").read_text())


def keys():
    with tempfile.NamedTemporaryFile("w") as file:
        for name, key in (("ada", "secret-a"), ("bob", "secret-b")):
            file.write(f"{name} {hashlib.sha256(key.encode()).hexdigest()} 1000 8\n")
        file.flush()
        with service("--api-key-file", file.name) as running:
            ada, bob = {"Authorization": "Bearer secret-a"}, {"Authorization": "Bearer secret-b"}
            check("no key", call(running, "GET", "/v1/tasks")[0] == 401)
            check("a wrong key", call(running, "GET", "/v1/tasks", headers={"Authorization": "Bearer x"})[0] == 401)
            check("a key", call(running, "GET", "/v1/tasks", headers=ada)[0] == 200)
            check("health needs none", call(running, "GET", "/health")[0] == 200)
            made = call(running, "POST", "/v1/generate", {"task": "relu"}, ada)[2]
            path = f"/v1/conversations/{made['id']}"
            check("one's own", call(running, "GET", path, headers=ada)[0] == 200)
            check("not another's", call(running, "GET", path, headers=bob)[0] == 404)
            check("nor to cancel", call(running, "DELETE", path, headers=bob)[0] == 404)


options = argparse.ArgumentParser()
options.add_argument("--conversations", type=int, default=10)
options = options.parse_args()
with service() as running:
    judging(running)
    paying(running)
    worker_deaths(running)
    talking(running)
    looking(running)
    experiments(running)
arms()
killed(options.conversations)
stopped()
orphaned()
keys()
print(f"{passed} passed, 0 failed")
