#!/usr/bin/env python3
"""A model elsewhere as the agents: a real service's own model, named by its URL, must hold the same conversation, turn by turn, as the
model inside; a chat endpoint that is wrong in many ways costs its turns and nothing else; nobody sees the key. Standard library alone."""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

from service_under_test import PROGRAM, ROOT, service

passed = 0
NAIVE = (ROOT / "tasks" / "row_sum" / "naive.cu").read_text()
FAST = (ROOT / "examples" / "row_sum_warp.cu").read_text()
KEY = "sk-nobody-may-see-this"


def check(what, true):
    global passed
    assert true, what
    passed += 1


def run(*arguments, key=None, fails=False):
    environment = {name: value for name, value in os.environ.items() if name not in ("KERNELWRIGHT_API_KEY", "OPENAI_API_KEY")}
    if key:
        environment["KERNELWRIGHT_API_KEY"] = key
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=1800)
    check((arguments, done.stderr), (done.returncode >= 2) == fails or done.returncode in (0, 1) and not fails)
    check("the key is not told", KEY not in done.stdout + done.stderr)
    return done


def conversation(model, *more, key=None):
    said = run("optimize", "row_sum", "--model", model, "--backend", "emulator", "--no-constrain", "--json", *more, key=key)
    return json.loads(said.stdout)


def turns_of(episode):
    """What was said and judged, without what only one's own model has: token ids and log-probabilities."""
    def verdict(given):
        return given and {name: given[name] for name in ("status", "correct", "compiled", "speedup_naive", "time_us")}
    return [{"role": turn["role"], "given": turn["given_turn"], "chosen": turn["chosen"],
             "said": [{**{name: each[name] for name in ("text", "kernel", "outcome", "reward", "finish", "token_count")},
                       "verdict": verdict(each["verdict"])} for each in turn["samples"]]} for turn in episode["turns"]]


def same_conversation():
    """Greedy, and sampled: the seeds are the same, too. Nobody holds an endpoint's answers to the launcher, so ours are free as well."""
    with service("--model", "tiny", "--backend", "emulator") as running:
        for more in (["--samples", "1", "--turns", "3"], ["--samples", "3", "--turns", "2", "--temperature", "0.8", "--seed", "7"]):
            inside = conversation("tiny", *more)
            outside = conversation(f"{running.address}/v1#tiny", *more)
            check("there is something to compare", inside["best"] is not None and len(inside["turns"]) > 0)
            check("the same conversation, turn by turn", turns_of(inside) == turns_of(outside))
            check("the same end", (inside["end"], inside["tokens"]) == (outside["end"], outside["tokens"]))
        evaluated = [json.loads(run("evaluate", model, "--tasks", "6", "--exam", "generator", "--split", "composition", "--backend",
                                    "emulator", "--no-constrain", "--json").stdout)["summary"] for model in ("tiny", f"{running.address}/v1#tiny")]
        check("the same exam", evaluated[0] == evaluated[1])


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers as OpenAI's API does; `script` has what each call to it gets."""
    protocol_version = "HTTP/1.1"
    script, asked = [], []

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json", headers={}):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send(200, json.dumps({"data": [{"id": "m"}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Endpoint.asked.append((dict(self.headers), body))
        step = Endpoint.script[min(len(Endpoint.asked), len(Endpoint.script)) - 1]
        if step == "close":
            self.close_connection = True
        elif isinstance(step, tuple):
            self.send(*step)
        else:
            choice = {"message": {"role": "assistant", "content": f"Here.\n```cuda\n{step}\n```"}, "finish_reason": "stop"}
            self.send(200, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 50}}).encode())


def hostile_turns():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model = f"http://127.0.0.1:{server.server_port}#m"
    echo = json.dumps({"error": {"message": f"your key is {KEY}"}}).encode()
    Endpoint.script = [NAIVE, (200, b"<html>", "text/html"), (200, b'{"choices":['), (302, b"", "text/plain", {"Location": "http://a/"}),
                       (403, echo), (503, b"", "text/plain", {"Retry-After-Ms": "5"}), "close", FAST]
    episode = conversation(model, "--samples", "1", "--turns", "6", key=KEY)
    finishes = [turn["samples"][0]["finish"] for turn in episode["turns"]]
    check(finishes, finishes == ["stop_token"] + ["failed"] * 4 + ["stop_token"])
    check("it went on to a better kernel", episode["best"]["turn"] == 5 and episode["best"]["verdict"]["speedup_naive"] > 1)
    check("tokens as the endpoint counts", episode["tokens"] == 100)
    check("messages", [each["role"] for each in Endpoint.asked[0][1]["messages"]] == ["system", "user"])

    Endpoint.asked, Endpoint.script = [], [(403, echo)]
    refused = run("generate", "row_sum", "--model", model, "--backend", "emulator", "--json", key=KEY)
    sample = json.loads(refused.stdout)["turns"][0]["samples"][0]
    check(sample["message"], sample["finish"] == "failed" and "[key]" in sample["message"])
    check("the key was sent", Endpoint.asked[0][0]["Authorization"] == f"Bearer {KEY}")
    with tempfile.TemporaryDirectory() as folder:
        for arguments in (["train", "sft", folder + "/a", "--model", model, "--steps", "1"],
                          ["train", "rl", folder + "/b", "--model", model, "--steps", "1"], ["package", model, "-o", folder + "/c.kwz"]):
            check(arguments, "own no weights" in run(*arguments, fails=True).stderr)
        store = folder + "/talk.db"
        said = run("train", "gather", store, "--model", model, "--tasks", "2", key=KEY, fails=True).stderr
        check(said, "none of the questions was answered" in said)
    check("nobody there", "cannot connect" in run("generate", "row_sum", "--model", "http://127.0.0.1:1#m", fails=True).stderr)
    check("no model", "#NAME" in run("generate", "row_sum", "--model", "http://127.0.0.1:1", fails=True).stderr)
    server.shutdown()


same_conversation()
hostile_turns()
print(f"{passed} checks passed")
sys.exit(0)
