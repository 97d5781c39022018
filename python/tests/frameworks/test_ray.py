"""Training under a real Ray: several nodes on this machine (`ray.cluster_utils.Cluster`), actors and nodes that are killed, Serve."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster

from kernelwright.ray import TrainingFailed, TrainingRequest, TrainingResult, train
from kernelwright.ray.__main__ import main
from kernelwright.ray.actors import Metrics, Process, free_port
from kernelwright.ray.training import run_secret, secret_file

# One supervised and one reinforcement step of the tiny agents: everything that a run does, at its smallest.
SMALL = ["--model", "tiny", "--device", "cpu", "--threads", "1", "--set", "sft.enabled=false", "--set", "compatibility.enabled=false",
         "--set", "rl.steps=3", "--set", "rl.tasks=2", "--set", "rl.group=2", "--set", "rl.turns=1", "--set", "rl.answer_tokens=200",
         "--set", "rl.checkpoint_every=1", "--set", "rl.exam=0", "--set", "evaluation.enabled=false"]


# Moments at which something is killed; the seed of where and when.
KILLS = int(os.environ.get("KERNELWRIGHT_RAY_KILLS", "3"))
SEED = int(os.environ.get("KERNELWRIGHT_RAY_SEED", "20261118"))


@pytest.fixture(scope="class")
def cluster():
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [found.add_node(num_cpus=1) for _ in range(4)]
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


def steps(run: Path) -> list[tuple[int, float]]:
    lines = [json.loads(line) for line in (run / "rl" / "metrics.jsonl").read_text().splitlines()]
    return [(line["step"], line["reward/mean"]) for line in lines if "reward/mean" in line]


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


def programs(*words: str) -> list[int]:
    """The program's own processes that begin with these arguments: neither their keepers nor their workers."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = each.read_bytes().decode(errors="replace").split("\0")
            ended = ") Z " in (each.parent / "stat").read_text()
        except OSError:
            continue
        if not ended and command[0].endswith("/kernelwright") and command[1 : 1 + len(words)] == list(words):
            found.append(int(each.parent.name))
    return sorted(pid for pid in found if parent_of(pid) not in found)


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def processes_to_kill(kind: str, run: Path) -> list[int]:
    """Of a node, its raylet."""
    ranks, judges = programs("train", str(run)), programs("serve", "--no-agents", "--quiet")
    keepers, services = [parent_of(pid) for pid in ranks], [parent_of(pid) for pid in judges]
    actors = [parent_of(pid) for pid in keepers]
    found = {"rank": ranks, "rank's keeper": keepers, "rank's actor": actors, "rank's node": [parent_of(pid) for pid in actors],
             "judge": judges, "judge's actor": services, "judge's node": [parent_of(pid) for pid in services]}[kind]
    return [pid for pid in found if pid > 1]


def lose(cluster: Cluster, nodes: list, raylet: int) -> None:
    """A node with all that is on it; another one comes."""
    lost = next(node for node in nodes if raylet in {each.process.pid for each in node.all_processes["raylet"]})
    nodes.remove(lost)
    cluster.remove_node(lost, allow_graceful=False)
    nodes.append(cluster.add_node(num_cpus=1))  # afterwards: it takes seconds


def request(run: Path, said: Said, place_seconds: float = 120) -> TrainingRequest:
    return TrainingRequest(run, SMALL, ranks=2, judges=1, place_seconds=place_seconds, say=said)


@pytest.fixture(scope="class")
def undisturbed(cluster, tmp_path_factory):
    said, run = Said(), tmp_path_factory.mktemp("undisturbed") / "run"
    done = train(request(run, said))
    assert (done.starts, done.ranks, done.judges_replaced, done.interrupted) == (1, 2, 0, False)
    assert done.steps_seen >= 3 and "stage" in done.last_metrics and (run / "report.html").exists()
    return run


class TestCluster:
    """Four nodes of one CPU for two ranks and a judge, and a head on which nothing is placed."""

    def start_like(self, undisturbed, run: Path, said: Said, **more) -> tuple[threading.Thread, list]:
        """With the same secret: judged with the same inputs."""
        secret_file(run).touch(mode=0o600)
        secret_file(run).write_bytes(run_secret(undisturbed))
        return in_background(request(run, said, **more))

    def ends_alike(self, undisturbed, run: Path, thread: threading.Thread, done: list) -> TrainingResult:
        thread.join(1800)
        assert done, "it hangs"
        assert not isinstance(done[0], BaseException), done[0]
        assert weights(run) == weights(undisturbed)
        assert steps(run) == steps(undisturbed), "nothing recorded is lost"
        assert not programs("train", str(run)) and not programs("serve", "--no-agents", "--quiet"), "nobody is left behind"
        return done[0]

    @pytest.mark.parametrize("number", range(KILLS))
    def test_kill_9_at_random_moments(self, cluster, undisturbed, tmp_path, number):
        found, nodes = cluster
        chance = random.Random(f"{SEED} {number}")
        kinds = ["rank", "judge's node", "judge", "rank's actor", "rank's node", "judge's actor", "rank's keeper"]
        kind, step, seconds = kinds[number % len(kinds)], chance.randrange(3), chance.random()
        said, run = Said(), tmp_path / "run"
        thread, done = self.start_like(undisturbed, run, said)
        said.wait_for("2 ranks started" if step == 0 else f" {step}/3 ")
        time.sleep(seconds)
        victims: list[int] = []
        while not victims and not done:  # what begins takes a moment
            victims = processes_to_kill(kind, run)
        if victims and "node" in kind:
            lose(found, nodes, chance.choice(victims))
        elif victims:
            os.kill(chance.choice(victims), signal.SIGKILL)
        kind += "" if victims else ", but it was ready before"
        print(f"kill -9 of a {kind}, {seconds:.2f} s after {f'step {step}' if step else 'the start'}", flush=True)
        result = self.ends_alike(undisturbed, run, thread, done)
        print(f"the same weights; ranks started {result.starts} times, {result.judges_replaced} judges replaced", flush=True)

    def test_without_room_fewer_ranks_go_on(self, cluster, undisturbed, tmp_path):
        found, nodes = cluster
        said, run = Said(), tmp_path / "run"
        thread, done = self.start_like(undisturbed, run, said, place_seconds=20)
        said.wait_for("2 ranks started")
        for _ in range(2):  # one is left for a rank, one for the judge
            found.remove_node(nodes.pop(), allow_graceful=False)
        assert self.ends_alike(undisturbed, run, thread, done).ranks == 1
        nodes.extend(found.add_node(num_cpus=1) for _ in range(2))

    def test_errors_of_the_program_are_not_tried_for_ever(self, cluster, tmp_path):
        said = Said()
        with pytest.raises(TrainingFailed, match="ended with status"):
            train(TrainingRequest(tmp_path / "run", ["--set", "no.such=key"], say=said))
        assert any("no.such" in line for line in said)
        with pytest.raises(TrainingFailed, match="started twice"):
            train(TrainingRequest(tmp_path / "run", ["--set", "no.such=key"], ranks=2, say=said))
        with pytest.raises(TrainingFailed, match="no room"):
            train(TrainingRequest(tmp_path / "run", SMALL, judges=7, place_seconds=2, say=said))


def test_the_quickstart_on_one_machine_ends_with_its_report(tmp_path, capsys):
    """By the command, with a judge; all of its stages, with fewer steps."""
    run = tmp_path / "run"
    fewer = ["data.tasks=4", "sft.steps=2", "sft.batch=512", "rl.steps=2", "rl.tasks=2", "rl.group=2", "rl.turns=1", "rl.answer_tokens=200",
             "evaluation.tasks=2", "evaluation.samples=1", "evaluation.answer_tokens=200"]
    try:
        assert main(["train", str(run), "--address", "local", "--judges", "1", "--preset", "quickstart", "--threads", "1",
                     *(word for setting in fewer for word in ("--set", setting))]) == 0
    finally:
        ray.shutdown()
    said = capsys.readouterr().out
    assert "judge 0 is ready" in said and f"The report is {run}/report.html" in said
    assert "<html" in (run / "report.html").read_text() and {path.parent.name for path in run.rglob("metrics.jsonl")} >= {"sft", "rl"}


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


def test_a_program_of_an_actor_is_asked_to_stop():
    """Threads of Ray's actors block SIGINT: what they start must hear it all the same."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process = Process([sys.executable, "-c", "import signal, sys, time; signal.signal(signal.SIGINT, lambda *_: sys.exit(7)); "
                           "print('up', flush=True); time.sleep(600)"], dict(os.environ))
        end = time.monotonic() + 120
        while process.take_lines() != ["up"]:
            assert time.monotonic() < end
            time.sleep(0.05)
        process.ask_to_stop()
        while process.status() is None:
            assert time.monotonic() < end, "it does not hear it"
            time.sleep(0.05)
        assert process.status() == 7
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


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
