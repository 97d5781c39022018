"""Kernelwright: a judge of CUDA kernels that needs no GPU, and agents that write faster ones.

    import kernelwright as kw

    verdict = kw.Judge().judge("softmax", open("my_softmax.cu").read())
    print(verdict.status, verdict.speedup, verdict.feedback)

The work is done by the program `kernelwright`, which runs as a child of this process (`kw.Service`) or elsewhere (`url=`). Names are
imported when they are first used, so that this import is fast and needs none of the optional packages.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PLACES = {
    "AgentError": "errors",
    "KernelwrightError": "errors",
    "NotJudged": "errors",
    "ProgramNotFound": "errors",
    "ServiceDied": "errors",
    "ServiceError": "errors",
    "ServiceTimeout": "errors",
    "TaskError": "errors",
    "Service": "service",
    "default_service": "service",
    "find_program": "program",
    "Task": "task",
    "Verdict": "verdict",
    "Judge": "judge",
    "AsyncJudge": "judge",
    "Agents": "agents",
    "AsyncAgents": "agents",
    "Best": "agents",
    "Event": "events",
    "Environment": "environment",
    "AsyncEnvironment": "environment",
    "Observation": "environment",
    "RewardDetails": "rewards",
    "reward": "rewards",
    "areward": "rewards",
    "reward_with_details": "rewards",
    "areward_with_details": "rewards",
    "task_from": "torch_task",
    "replace": "replacement",
}

__all__ = sorted(_PLACES)

if TYPE_CHECKING:
    from .agents import Agents, AsyncAgents, Best
    from .environment import AsyncEnvironment, Environment, Observation
    from .errors import (AgentError, KernelwrightError, NotJudged, ProgramNotFound, ServiceDied, ServiceError, ServiceTimeout, TaskError)
    from .events import Event
    from .judge import AsyncJudge, Judge
    from .program import find_program
    from .rewards import RewardDetails, areward, areward_with_details, reward, reward_with_details
    from .service import Service, default_service
    from .task import Task
    from .verdict import Verdict


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'kernelwright' has no attribute {name!r}")
    value = getattr(importlib.import_module("." + _PLACES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
