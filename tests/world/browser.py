#!/usr/bin/env python3
"""A real browser on the service's page: makes softmax faster, judges a kernel with a bug, watches a training run, an experiment that rolls
back by itself and the service, and uses the page with the keyboard alone. Fails on a message of the console and on a request to another
host. PICTURES=FOLDER keeps screenshots."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from service_under_test import PROGRAM, ROOT, service
from webdriver import browser, missing

if reason := missing():
    print("skipped:", reason)
    sys.exit(77)
PICTURES = pathlib.Path(os.environ.get("PICTURES") or tempfile.mkdtemp())
PICTURES.mkdir(parents=True, exist_ok=True)
passed = 0


def check(what, true):
    global passed
    assert true, what
    passed += 1


def post(running, path, body):
    request = urllib.request.Request(running.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def workbench(page, running):
    page.open(running.address + "/")
    page.wait("the task", "document.body.innerText.includes('softmax') || document.querySelector('input')")
    page.click("button[type=submit]", "Make it faster")
    page.wait("the second turn", "document.querySelector('#turn-2 .speed')?.textContent.includes('×')")
    page.wait("the end", "document.querySelector('.hero .value')?.textContent.includes('×')")
    check("a kernel with colours", page.script("return document.querySelectorAll('#turn-1 pre span, #turn-1 code span').length") > 20)
    page.click("#turn-2 [role=tab]", "Changes")
    check("a diff", page.wait("the diff", "document.querySelector('#turn-2 [role=tabpanel]:not([hidden])')?.innerText.length > 50"))
    page.picture(PICTURES / "workbench.png")
    page.open(page.call("GET", page.session + "/url"))  # a reload finds the conversation again
    page.wait("the conversation after a reload", "document.querySelector('.hero .value')?.textContent.includes('×')")
    check("found again", True)


def judge(page, running):
    page.open(running.address + "/#/workbench")
    page.wait("the choice", "[...document.querySelectorAll('button,label')].some((n) => n.textContent.trim() === 'Judge a kernel')")
    page.click("button,label", "Judge a kernel")
    page.type("textarea", (ROOT / "tests" / "bugs" / "softmax_sync_missing_before_read.cu").read_text())
    page.click("button[type=submit]", "Judge my own kernel")
    page.wait("the verdict", "document.body.innerText.includes('__syncthreads')")
    check("the line", "20" in page.script("return document.querySelector('.results').innerText"))
    page.picture(PICTURES / "finding.png")


def live_run(page, running):
    command = [PROGRAM, "train", "sft", f"{running.folder}/live", "--model", "tiny-1m", "--vocabulary", "512", "--steps", "60",
               "--batch", "2048", "--exam", "0", "--optimizer-exam", "0", "--log-every", "1", "--device", "cpu", "--threads", "1",
               "--audit", "0"]
    training = subprocess.Popen(command, env=dict(os.environ, KERNELWRIGHT_RUNS=running.folder), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
    try:
        page.open(running.address + "/#/runs")
        page.wait("the run in the list", "document.querySelector('main').innerText.includes('live')")
        page.open(running.address + "/#/runs/live")
        first = page.wait("a curve", "document.querySelector('svg.chart path, .chart path')?.getAttribute('d')")
        page.wait("the curve growing", f"document.querySelector('svg.chart path, .chart path').getAttribute('d') !== {json.dumps(first)}")
        check("it goes on while one looks", True)
        page.picture(PICTURES / "run.png")
    finally:
        training.terminate()
        training.wait()


def worse_agents(running):
    """Weights that nobody has trained, in the place of the shipped agents: no kernel of theirs is right."""
    folder = f"{running.folder}/untrained"
    shipped = ROOT / "weights" / "tiny"
    subprocess.run([PROGRAM, "model", "init", "tiny-1m", "--tokenizer", str(shipped / "tokenizer.json"), "--to", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def experiment(page, running):
    """Users get a worse arm until the guardrails have seen enough; the page shows that without being reloaded."""
    definition = ("name: night\narms:\n  - {name: control, agents: tiny, weight: 0.5}\n"
                  f"  - {{name: new, agents: {worse_agents(running)}, weight: 0.5}}\nramp: [100]\n"
                  "guardrails:\n  - {metric: correct, tolerance: 0.01, margin: 0.05}\n")
    post(running, "/v1/experiments", {"actor": "ada", "yaml": definition})
    post(running, "/v1/experiments/night/start", {"actor": "ada"})
    page.open(running.address + "/#/experiments/night")
    page.wait("both arms", "document.querySelector('main').innerText.includes('control')")
    check("the trail", page.wait("the trail", "document.querySelector('main').innerText.includes('ada')"))
    for i in range(200):
        post(running, "/v1/generate", {"task": "relu", "user": f"user-{i}", "max_tokens": 512})
        if "rolled back" in state_of(running):
            break
    check(f"rolled back after {i + 1} requests", "rolled back" in state_of(running))
    page.wait("the rollback on the page", "/rolled.back/i.test(document.querySelector('main').innerText)")
    check("with its reason", page.script("return document.querySelector('main').innerText").count("correct") > 0)
    page.picture(PICTURES / "experiment.png")
    after = post(running, "/v1/generate", {"task": "relu", "user": "somebody-else"})
    check("everybody gets the control", after["model"] == "tiny")


def state_of(running):
    with urllib.request.urlopen(running.address + "/v1/experiments/night") as answer:
        return json.load(answer)["state"]


def keyboard(page, running):
    """No mouse: choose a task, ask for it, look at a tab of a turn, go to another view."""
    page.open(running.address + "/#/workbench")
    page.open(running.address + "/")
    page.wait("the button", "[...document.querySelectorAll('button[type=submit]')].some((n) => n.offsetParent !== null)")
    page.tab_to("the choice of the task", "node.getAttribute('role') === 'combobox'")
    page.script("document.activeElement.select()")
    page.press(*"relu")
    page.press("ArrowDown", "Enter")
    page.tab_to("the button", "node.matches('button[type=submit]') && node.textContent.trim() === 'Make it faster'")
    page.press("Enter")
    page.wait("the end", "document.querySelector('.hero .value')?.textContent.includes('×')")
    check("the chosen task", page.script("return document.querySelector('main').innerText").count("relu") > 0)
    page.tab_to("tabs of a turn", "node.getAttribute('role') === 'tab'")
    before = page.script("return document.activeElement.textContent")
    page.press("ArrowRight")
    check("arrows move between tabs", page.script("return document.activeElement.getAttribute('role') === 'tab' && "
                                                  "document.activeElement.textContent") not in (False, before))
    page.script("window.scrollTo(0, 0)")
    page.open(running.address + "/#/workbench")
    page.tab_to("the link to the service", "node.matches('a') && node.textContent.trim() === 'Service'")
    page.press("Enter")
    page.wait("the service", "location.hash.includes('service')")
    check("everything by keyboard", True)


def the_service(page, running):
    page.open(running.address + "/#/service")
    page.wait("the judge", "document.querySelector('main').innerText.includes('emulat')")
    page.picture(PICTURES / "service.png")
    check("shown", True)


with service() as running, browser() as page:
    for part in (workbench, judge, live_run, experiment, the_service, keyboard):
        part(page, running)
        problems = page.problems()
        check(f"{part.__name__}: {problems}", problems == [])
    check("no other host", page.hosts() <= {urllib.parse.urlsplit(running.address).netloc})
print(f"{passed} passed, 0 failed")
