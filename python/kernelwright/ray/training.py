"""A training run under Ray: ranks and judges are placed, watched, and replaced.

The run is a folder that every node sees. When a rank dies, its actor, or its node, all ranks are ended and started again; the program
resumes from its last checkpoint. A judge that dies is started again at its address; ranks go on with the others meanwhile. One that had
to move to another node gets the ranks stopped at a safe point and started with the new address.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from ..errors import KernelwrightError
from ..program import find_program
from .actors import JudgeNode, Rank

_LOOK_S = 0.3
_ANSWER_S = 60.0
_NOTICE_S = 3.0  # for Ray to see that with an actor a whole node is gone, before it is asked where there is room
_INTERRUPTED = 130
_KILLED = 128  # and above: by a signal


class TrainingFailed(KernelwrightError):
    """The program ended with an error of its own, or was started too often."""


@dataclass
class TrainingRequest:
    """run: the run's folder, which every node sees under this path. options: what `kernelwright train` gets besides."""

    run: Path
    options: Sequence[str] = ()
    ranks: int = 1
    judges: int = 0
    judge_cpus: float = 1.0  # of each judge, which judges as many kernels at a time
    rank_cpus: float = 1.0
    gpus: bool | None = None  # one for each rank; None: where the cluster has any
    restarts: int = 20  # without a new step in between
    place_seconds: float = 120.0  # until fewer ranks are tried
    start_seconds: float = 600.0  # in which a judge must be ready
    stop_seconds: float = 600.0  # in which ranks that are asked to stop must reach a safe point; then they are killed
    program: str | None = None
    judge_options: Sequence[str] = ()
    say: Callable[[str], None] = print


@dataclass
class TrainingResult:
    run: Path
    ranks: int  # that it ended with
    starts: int  # of the ranks
    judges_replaced: int
    last_metrics: dict[str, Any] = field(default_factory=dict)
    steps_seen: int = 0
    interrupted: bool = False


class _Lost(Exception):
    """A rank, its actor or its node is gone: the run must be started again."""


class _Refused(_Lost):
    """All ranks have ended with errors of their own."""


class _Moved(Exception):
    """A judge has another address, or will have one."""


def knows_ranks(program: Path) -> bool:
    """Whether this build of the program trains with several processes; without, each would write the run as if it were alone."""
    said = subprocess.run([str(program), "train", "--help"], capture_output=True, text=True, timeout=60)
    return "--ranks" in said.stdout


def secret_file(run: Path) -> Path:
    """Beside the run's folder: the program begins a run in an empty one."""
    return run.with_name(run.name + ".judge.secret")


def run_secret(run: Path) -> bytes:
    """The secret of this run's judges: made once, so that a resumed run is judged with the same inputs."""
    file = secret_file(run)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_name(f"{file.name}.{os.getpid()}")
        made.touch(mode=0o600)
        made.write_text(secrets.token_hex(32) + "\n")
        made.replace(file)
    return file.read_bytes()


class _Placement:
    """A placement group with the ranks' bundles first, then the judges'."""

    def __init__(self, request: TrainingRequest) -> None:
        self._request = request
        self.ranks = request.ranks
        self.judges = request.judges
        self._gpus = request.gpus if request.gpus is not None else ray.cluster_resources().get("GPU", 0) >= 1
        self.group: PlacementGroup | None = None

    def place(self) -> None:
        """As many ranks as the cluster has room for, at least one; judges are not given up."""
        while True:
            rank = {"CPU": self._request.rank_cpus, **({"GPU": 1} if self._gpus else {})}
            bundles = [rank] * self.ranks + [{"CPU": self._request.judge_cpus}] * self.judges
            self.group = placement_group(bundles, strategy="PACK")
            if self.group.wait(self._request.place_seconds):
                return
            self.remove()
            if self.ranks == 1:
                raise TrainingFailed(f"the cluster has no room for a rank and {self.judges} judges: it has {ray.cluster_resources()}")
            self.ranks -= 1
            self._request.say(f"no room for {self.ranks + 1} ranks within {self._request.place_seconds:.0f} s; trying {self.ranks}")

    def remove(self) -> None:
        if self.group is not None:
            remove_placement_group(self.group)
            self.group = None

    def options(self, bundle: int) -> dict[str, Any]:
        is_rank = bundle < self.ranks
        return {"num_cpus": self._request.rank_cpus if is_rank else self._request.judge_cpus,
                "num_gpus": 1 if is_rank and self._gpus else 0, "max_restarts": 0,
                "scheduling_strategy": PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=bundle)}


class _Training:
    def __init__(self, request: TrainingRequest) -> None:
        self._request = request
        self._program = find_program(request.program)
        if request.ranks > 1 and not knows_ranks(self._program):
            raise TrainingFailed("this build of kernelwright trains with one process: --ranks 1")
        self._run = request.run.absolute()
        self._secret = run_secret(self._run)
        self._placement = _Placement(request)
        self._rank_actor = ray.remote(Rank)
        self._judge_actor = ray.remote(JudgeNode)
        self._ranks: list[Any] = []
        self._judges: list[Any] = []
        self._urls: list[str] = []
        self._fruitless = 0  # starts since the last new step
        self._refused = 0  # and how many of them ended with the program's own errors
        self._last_step: dict[str, int] = {}  # by stage
        self._wrong_since: float | None = None  # that one of several ranks has ended, and others have not
        self.result = TrainingResult(self._run, request.ranks, 0, 0)

    def run(self) -> TrainingResult:
        try:
            self._placement.place()
            self._judges = [None] * self._placement.judges
            self._urls = [""] * self._placement.judges
            while not self._try_once():
                pass
            return self.result
        except KeyboardInterrupt:
            self._request.say("the ranks stop at a safe point")
            self._stop_ranks()
            self.result.interrupted = True
            return self.result
        finally:
            self._kill_ranks()
            for judge in filter(None, self._judges):
                self._quietly(judge.end.remote())
                self._quietly_kill(judge)
            self._placement.remove()

    def _try_once(self) -> bool:
        """True: the run has ended."""
        try:
            self._replace_judges()
            self._start_ranks()
            while not self._ended(self._look_at_ranks()):
                self._look_at_judges()
                time.sleep(_LOOK_S)
            return True
        except _Moved as problem:
            self._request.say(f"{problem}: the ranks stop at a safe point and start again")
            self._stop_ranks()
            self._place_again_if_lost()
        except (_Lost, RayActorError, GetTimeoutError) as problem:
            self._kill_ranks()
            self._fruitless += 1
            self._refused += isinstance(problem, _Refused)
            if self._refused > 1:
                raise TrainingFailed(f"kernelwright train was started twice: {problem}") from problem
            if self._fruitless > self._request.restarts:
                raise TrainingFailed(f"started {self._fruitless} times without a new step; giving up") from problem
            self._request.say(f"{str(problem).splitlines()[0]}; going on from the last checkpoint")
            if not isinstance(problem, _Lost):
                time.sleep(_NOTICE_S)
            self._place_again_if_lost()
        return False

    def _place_again_if_lost(self) -> None:
        """Ray brings bundles of a lost node elsewhere by itself, where there is room; where there is none, fewer ranks go on."""
        group = self._placement.group
        assert group is not None
        if group.wait(self._request.place_seconds):
            return
        for index in range(self._placement.judges):
            self._forget_judge(index)
        self._placement.remove()
        self._placement.place()

    # Judges.

    def _new_judge(self, index: int) -> str:
        hosts = {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        host = "127.0.0.1" if len(hosts) == 1 else None
        before = self._urls[index]
        # The same port where it can be had: then nobody notices that it is another one.
        for port in ([int(before.rsplit(":", 1)[1])] if before else []) + [None]:
            judge = self._judge_actor.options(**self._placement.options(self._placement.ranks + index)).remote(
                self._secret, host, port, max(1, int(self._request.judge_cpus)), list(self._request.judge_options), self._request.program)
            try:
                url: str = ray.get(judge.wait_until_ready.remote(self._request.start_seconds if port is None else _ANSWER_S),
                                   timeout=self._request.start_seconds + _ANSWER_S)
            except RayError as problem:
                self._quietly_kill(judge)
                if port is None:
                    raise TrainingFailed(f"judge {index} does not start: {problem}") from problem
                continue
            self._judges[index] = judge
            return url
        raise AssertionError("unreachable")

    def _replace_judges(self) -> None:
        for index, judge in enumerate(self._judges):
            if judge is not None and self._alive(judge):
                continue
            self._forget_judge(index)
            again = self._urls[index] != ""
            self._urls[index] = self._new_judge(index)
            self.result.judges_replaced += 1 if again else 0
            self._request.say(f"judge {index} is {'back' if again else 'ready'} at {self._urls[index]}")

    def _alive(self, actor: Any) -> bool:
        try:
            ray.get(actor.facts.remote(), timeout=_ANSWER_S)
        except (RayActorError, GetTimeoutError):
            return False
        return True

    # Ranks.

    def _start_ranks(self) -> None:
        count = self._placement.ranks
        self._ranks = [self._rank_actor.options(**self._placement.options(index)).remote(self._request.program) for index in range(count)]
        places = ray.get([rank.node.remote() for rank in self._ranks], timeout=self._request.place_seconds + _ANSWER_S)
        host = "127.0.0.1" if len({place["host"] for place in places}) == 1 else places[0]["host"]
        port = ray.get(self._ranks[0].free_port.remote(host), timeout=_ANSWER_S)
        arguments = ["train", str(self._run), *self._request.options]
        if self._urls:
            arguments += ["--judge-on", ",".join(self._urls), "--judge-secret-file", str(secret_file(self._run))]
        job = secrets.token_hex(8)
        meeting = secrets.token_hex(32)  # who does not know it cannot join
        for index, rank in enumerate(self._ranks):
            beside = [place["node"] for place in places]
            environment = {"RANK": str(index), "WORLD_SIZE": str(count), "LOCAL_RANK": str(beside[:index].count(beside[index])),
                           "LOCAL_WORLD_SIZE": str(beside.count(beside[index])), "MASTER_ADDR": host, "MASTER_PORT": str(port),
                           "TORCHELASTIC_RUN_ID": job, "KERNELWRIGHT_RANKS_SECRET": meeting}
            if self._request.ranks == 1:
                environment = {}  # one of several that are gone goes on as they would have
            ray.get(rank.start.remote(arguments, environment, str(self._run)), timeout=_ANSWER_S)
        self.result.starts += 1
        self.result.ranks = count
        self._wrong_since = None
        self._request.say(f"{count} rank{'s' if count > 1 else ''} started" + (f" for the {self.result.starts}. time" if
                                                                              self.result.starts > 1 else ""))

    def _look_at_ranks(self) -> list[int | None]:
        """How each has ended, None of those that run; one whose actor is gone raises."""
        looks = ray.get([rank.look.remote() for rank in self._ranks], timeout=_ANSWER_S)
        for index, look in enumerate(looks):
            for line in look["lines"]:
                self._request.say(f"[rank {index}] {line}" if len(looks) > 1 else line)
            for metrics in look["metrics"]:
                self._note(metrics)
        return [look["status"] for look in looks]

    def _note(self, metrics: dict[str, Any]) -> None:
        """A rank that was started again begins with the lines of before: only what goes further is new."""
        self.result.last_metrics = metrics
        stage, step = str(metrics.get("stage", "")), int(metrics.get("step", 0))
        if step > self._last_step.get(stage, -1):
            self._last_step[stage] = step
            self.result.steps_seen += 1
            self._fruitless = self._refused = 0

    def _ended(self, statuses: list[int | None]) -> bool:
        if all(status == 0 for status in statuses):
            return True
        if any(status == _INTERRUPTED for status in statuses):
            self.result.interrupted = True
            return True
        wrong = [status for status in statuses if status not in (None, 0)]
        if not wrong:
            return False
        # The program's own errors (a wrong option, a full disk) have small numbers; being killed has a large one.
        own = all(status is not None and 0 < status < _KILLED for status in statuses)
        if own and len(statuses) == 1:
            raise TrainingFailed(f"kernelwright train ended with status {wrong[0]}")
        # Of several, those that miss a dead one end with errors of their own: it takes them a moment.
        if any(status is None for status in statuses) and all(0 < (status or 1) < _KILLED for status in statuses):
            self._wrong_since = self._wrong_since or time.monotonic()
            if time.monotonic() - self._wrong_since < _ANSWER_S:
                return False
        raise (_Refused if own else _Lost)(f"a rank ended with status {max(wrong, key=lambda status: status or 0)}")

    def _look_at_judges(self) -> None:
        """One that is gone comes back where it was, while the ranks go on with the others; one that had to move stops them."""
        before = list(self._urls)
        for index, judge in enumerate(self._judges):
            if judge is None or not self._is_there(judge):
                self._forget_judge(index)
        if all(self._judges):
            return
        assert self._placement.group is not None
        if not self._placement.group.wait(self._request.place_seconds):
            raise _Moved(f"there is no room for a judge within {self._request.place_seconds:.0f} s")
        self._replace_judges()
        if self._urls != before:
            raise _Moved("a judge has moved")

    def _forget_judge(self, index: int) -> None:
        """So that nothing of it holds the place of its successor."""
        if self._judges[index] is not None:
            self._quietly_kill(self._judges[index])
            self._judges[index] = None

    def _is_there(self, judge: Any) -> bool:
        try:
            ray.get(judge.facts.remote(), timeout=_ANSWER_S)
        except RayActorError:
            return False
        except GetTimeoutError:
            return True  # it is busy; the ranks see by themselves whether it answers
        return True

    def _stop_ranks(self) -> None:
        """At a safe point, where they reach one in time."""
        for rank in self._ranks:
            self._quietly(rank.ask_to_stop.remote())
        end = time.monotonic() + self._request.stop_seconds
        try:
            while time.monotonic() < end and any(status is None for status in self._look_at_ranks()):
                time.sleep(_LOOK_S)
        except (RayActorError, GetTimeoutError):
            pass  # one is gone; the others end without it
        self._kill_ranks()

    def _kill_ranks(self) -> None:
        self._wait_quietly([rank.kill.remote() for rank in self._ranks])
        for rank in self._ranks:
            self._quietly_kill(rank)
        self._ranks = []
        time.sleep(0.5)  # a keeper whose actor is gone ends its program within a tenth of that

    @staticmethod
    def _quietly(reference: Any) -> Any:
        try:
            ray.get(reference, timeout=_ANSWER_S)
        except RayError:
            pass
        return reference

    @staticmethod
    def _wait_quietly(references: list[Any]) -> None:
        if references:
            ray.wait(references, num_returns=len(references), timeout=_ANSWER_S)

    @staticmethod
    def _quietly_kill(actor: Any) -> None:
        try:
            ray.kill(actor)
        except RayError:
            pass


def train(request: TrainingRequest) -> TrainingResult:
    """Trains, and returns when the run has ended. Ray must be initialised (`ray.init`)."""
    if not ray.is_initialized():
        raise KernelwrightError("Ray is not initialised: call ray.init(), or use kernelwright-ray")
    return _Training(request).run()


def connect(address: str | None) -> None:
    """To a running cluster: `address`, RAY_ADDRESS, or one on this machine; otherwise a fresh one here."""
    if address == "local":
        ray.init(address="local", include_dashboard=False, log_to_driver=False)
        return
    try:
        ray.init(address=address or "auto", log_to_driver=False)
    except ConnectionError:
        if address is not None or os.environ.get("RAY_ADDRESS"):
            raise
        print("no Ray cluster is running here: a fresh one on this machine", file=sys.stderr)
        ray.init(include_dashboard=False, log_to_driver=False)
