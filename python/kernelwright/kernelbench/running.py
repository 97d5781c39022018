"""Agents write kernels for imported problems. Each problem's result is a file of its own, so that a run goes on where it was ended."""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Any

from ..agents import Agents
from ..errors import KernelwrightError
from ..service import Service
from .bench_folder import benchmark, imported_problems, read_json, write_json


def run_folder(folder: pathlib.Path, levels: set[int] | None, *, samples: int, turns: int, model: str | None = None, url: str | None = None,
               limit: int | None = None, even_if_learned: bool = False) -> int:
    settings = {"samples": samples, "turns": turns, "model": model}
    problems = [each for each in imported_problems(folder, levels) if each["expressible"]][:limit]
    waiting = [each for each in problems if not _done(folder, each, settings)]
    print(f"{len(problems)} problems, {len(problems) - len(waiting)} done before", file=sys.stderr)
    # Without a URL the service is this command's own, and has the agents that are asked for.
    with Service(url, agents=model or True) as service:
        agents = Agents(service, model=model if url is not None else None)
        learned_from = benchmarks_of(service, agents.model)
        if benchmark in learned_from and not even_if_learned:
            raise KernelwrightError(f"these agents learned from tasks of {benchmark}: what they write here is remembered; "
                                    "--even-if-learned lets them, and every table says so")
        for at, problem in enumerate(waiting):
            result = converse(agents, folder / "tasks" / problem["task"], samples, turns)
            write_json(folder / "kernels" / f"{problem['task']}.json",
                       {"key": problem["key"], "settings": settings, "learned_from": learned_from, **result})
            print(f"{at + 1}/{len(waiting)} {problem['key']:7} {problem['title'][:50]:50} {_outcome(result)}", flush=True)
    right = sum(_result(folder, each).get("best") is not None for each in problems)
    print(f"{right} of {len(problems)} problems have a kernel that the judge calls right")
    return 0


def benchmarks_of(service: Service, model: str | None) -> list[str]:
    """Whose questions were among the lessons of these agents, as their agents.json says; a service that is older says nothing."""
    if model is None:
        description = service.description().get("model") or {}
    else:
        description = next((each for each in service.request("GET", "/v1/models")["data"] if each.get("id") == model), {})
    named = description.get("learned_from")
    return [str(each) for each in named] if isinstance(named, list) else []


def _result(folder: pathlib.Path, problem: dict[str, Any]) -> dict[str, Any]:
    place = folder / "kernels" / f"{problem['task']}.json"
    return read_json(place, "a run's kernels") if place.exists() else {}


def _done(folder: pathlib.Path, problem: dict[str, Any], settings: dict[str, Any]) -> bool:
    result = _result(folder, problem)
    return result.get("settings") == settings and not result.get("problem")


def converse(agents: Agents, task: pathlib.Path, samples: int, turns: int) -> dict[str, Any]:
    """Plain data: every kernel with its verdict's status, the best one, what went wrong."""
    started = time.monotonic()
    kernels: list[dict[str, Any]] = []
    end: dict[str, Any] = {}
    library: dict[str, Any] = {}
    problem = None
    try:
        for event in agents.optimize(task, turns=turns, samples=samples):
            if event.name == "answer":
                kernels.append({"turn": event["turn"], "sample": event["sample"], "kernel": event.get("kernel"),
                                "status": event.get("outcome")})
            elif event.name == "verdict":
                own = next(each for each in reversed(kernels) if (each["turn"], each["sample"]) == (event["turn"], event["sample"]))
                own.update(status=event["verdict"]["status"], speedup=event["verdict"].get("speedup_naive"))
            elif event.name == "baseline":
                judged = event.get("verdict") or {}
                library = {"status": judged.get("status"), "time_us": judged.get("time_us"), "message": event.get("message")}
            elif event.name == "end":
                end = event.data
    except KernelwrightError as error:
        problem = str(error)
    return {"best": end.get("best"), "end": end.get("end"), "problem": problem or end.get("problem"), "verdicts": kernels,
            "library": library, "wall_s": round(time.monotonic() - started, 2)}


def _outcome(result: dict[str, Any]) -> str:
    if result["best"]:
        speedup = result["best"].get("speedup")
        return "right" + (f", {speedup:.2f} x the library's kernel" if speedup else "")
    return result["problem"] or "no right kernel"
