"""Training under a real Ray: several nodes on this machine (`ray.cluster_utils.Cluster`), actors and nodes that are killed, Serve."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster

from kernelwright.ray import TrainingFailed, TrainingRequest, train
from kernelwright.ray.__main__ import main
from kernelwright.ray.actors import Metrics, Process, free_port
from kernelwright.ray.training import run_secret

# One supervised and one reinforcement step of the tiny agents: everything that a run does, at its smallest.
SMALL = ["--model", "tiny", "--device", "cpu", "--threads", "1", "--set", "sft.enabled=false", "--set", "compatibility.enabled=false",
         "--set", "rl.steps=3", "--set", "rl.tasks=2", "--set", "rl.group=2", "--set", "rl.turns=1", "--set", "rl.answer_tokens=200",
         "--set", "rl.checkpoint_every=1", "--set", "rl.exam=0", "--set", "evaluation.enabled=false"]


@pytest.fixture
def cluster():
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    nodes = [found.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=found.address, log_to_driver=False)
    yield found, nodes
    ray.shutdown()
    found.shutdown()


class Said(list):
    def __call__(self, line: str) -> None:
        print(line, flush=True)
        self.append(line)

    def wait_for(self, words: str, seconds: float = 900) -> None:
        end = time.monotonic() + seconds
        while not any(words in line for line in self):
            assert time.monotonic() < end, (words, self[-20:])
            time.sleep(0.1)


def weights(run: Path) -> dict[str, bytes]:
    found = {path.relative_to(run).as_posix(): path.read_bytes() for path in (run / "rl" / "agents").rglob("*.safetensors")}
    assert found
    return found


def in_background(request: TrainingRequest) -> tuple[threading.Thread, list]:
    done: list = []

    def work() -> None:
        try:
            done.append(train(request))
        except BaseException as problem:
            done.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, done


def children_of(pid: int) -> list[int]:
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(each.parent.name))
    return found


def rank_processes(run: Path) -> list[int]:
    """The program's own processes, not the keepers."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if len(words) > 2 and words[0].endswith("/kernelwright") and words[1] == "train" and str(run) in words:
            found.append(int(each.parent.name))
    return found


def test_a_run_survives_what_is_killed_and_ends_with_the_same_weights(cluster, tmp_path):
    said = Said()
    quiet, killed = tmp_path / "quiet", tmp_path / "killed"
    # The same secret: judged with the same inputs.
    secret = run_secret(quiet)
    killed.mkdir()
    (killed / "judge.secret").touch(mode=0o600)
    (killed / "judge.secret").write_bytes(secret)
    undisturbed = train(TrainingRequest(quiet, SMALL, judges=2, say=said))
    assert undisturbed.starts == 1 and undisturbed.judges_replaced == 0 and undisturbed.steps_seen >= 3
    assert "stage" in undisturbed.last_metrics and (quiet / "report.html").exists()

    thread, done = in_background(TrainingRequest(killed, SMALL, judges=2, say=said))
    said.clear()
    said.wait_for("1 rank started")
    deadline = time.monotonic() + 600
    while not rank_processes(killed) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(rank_processes(killed)[0], signal.SIGKILL)
    said.wait_for("for the 2. time")
    thread.join(1800)
    assert not isinstance(done[0], BaseException), done[0]
    assert done[0].starts >= 2
    assert weights(killed) == weights(quiet)
    assert not rank_processes(killed), "nobody is left behind"


def test_judges_and_nodes_that_go_away_are_replaced(cluster, tmp_path):
    found, nodes = cluster
    said = Said()
    run = tmp_path / "run"
    thread, done = in_background(TrainingRequest(run, [*SMALL, "--set", "rl.steps=4"], judges=2, place_seconds=30, say=said))
    said.wait_for("1 rank started")
    # A judge's service: its actor starts it again at its address. Then a whole node with what is on it.
    services = [pid for pid in map(int, (path.name for path in Path("/proc").glob("[0-9]*"))) if _is_judge(pid)]
    assert len(services) == 2
    os.kill(services[0], signal.SIGKILL)
    found.add_node(num_cpus=1)
    found.remove_node(nodes[0], allow_graceful=False)
    thread.join(1800)
    assert not isinstance(done[0], BaseException), done[0]
    assert (run / "report.html").exists()


def _is_judge(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    return len(words) > 2 and words[0].endswith("/kernelwright") and words[1:3] == ["serve", "--no-agents"] and "--end-with" in words


def test_errors_of_the_program_are_not_tried_again(tmp_path):
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        said = Said()
        with pytest.raises(TrainingFailed, match="ended with status"):
            train(TrainingRequest(tmp_path / "run", ["--set", "no.such=key"], say=said))
        assert any("no.such" in line for line in said)
        with pytest.raises(TrainingFailed, match="no room"):
            train(TrainingRequest(tmp_path / "run", SMALL, judges=7, place_seconds=2, say=said))
    finally:
        ray.shutdown()


def test_options_that_exclude_each_other(tmp_path):
    with pytest.raises(SystemExit, match="exclude each other"):
        main(["train", "x", "--judges", "2", "--judge-on", "emulator"])


def test_a_program_ends_with_its_actor(tmp_path):
    """Without Ray: the keeper ends what it keeps when its parent is gone."""
    pid = os.fork()
    if pid == 0:
        process = Process([sys.executable, "-c", f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); "
                           "time.sleep(600)"], dict(os.environ))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.05)
        os._exit(0 if process.status() is None else 1)
    assert os.waitpid(pid, 0)[1] == 0
    kept = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 120
    while Path(f"/proc/{kept}").exists() and "State:\tZ" not in Path(f"/proc/{kept}/status").read_text():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_metrics_are_read_once_and_again_after_a_resume(tmp_path):
    (tmp_path / "rl").mkdir()
    file = tmp_path / "rl" / "metrics.jsonl"
    metrics = Metrics(tmp_path)
    assert metrics.new() == []
    file.write_text('{"step": 1, "reward/mean": 0.5}\n{"step": 2, "rew')
    assert metrics.new() == [{"stage": "rl", "step": 1, "reward/mean": 0.5}]
    with file.open("a") as more:
        more.write('ard/mean": 0.6}\n')
    assert [each["step"] for each in metrics.new()] == [2]
    file.write_text('{"step": 1}\n')
    assert metrics.new() == [{"stage": "rl", "step": 1}]


def test_serve_judges_kernels():
    from ray import serve

    from kernelwright.ray.serve_app import app

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        port = free_port()
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        serve.run(app, route_prefix="/")
        import httpx

        root = Path(__file__).resolve().parents[3]
        body = {"task": "relu", "kernel": (root / "tasks" / "relu" / "naive.cu").read_text()}
        answer = httpx.post(f"http://127.0.0.1:{port}/v1/judge", content=json.dumps(body), timeout=600,
                            headers={"Content-Type": "application/json"})
        assert answer.status_code == 200, answer.text
        assert answer.json()["verdict"]["status"] == "correct"
        assert httpx.get(f"http://127.0.0.1:{port}/v1/judge?challenge=zz", timeout=60).status_code == 400
    finally:
        serve.shutdown()
        ray.shutdown()
