"""What the judge says about a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import KernelwrightError


class Verdict(Mapping[str, Any]):
    """A verdict's JSON (docs/verdict.md describes every member) with its most used members as attributes.

    `verdict["findings"]` reads a member. `.reward` and `.answer` are there when the judge was asked for a reward, or was given an answer
    of a model instead of a kernel.
    """

    __slots__ = ("json", "id", "reward", "answer", "rank")

    def __init__(self, json: Mapping[str, Any], *, id: str = "", reward: Mapping[str, Any] | None = None,
                 answer: Mapping[str, Any] | None = None, rank: Sequence[float] | None = None) -> None:
        self.json: dict[str, Any] = dict(json)
        self.id = id
        self.reward = reward  # a breakdown: `total`, `terms`, ...
        self.answer = answer  # `outcome`, `message`, `kernel`, ...
        self.rank = list(rank) if rank is not None else None  # orders kernels, better ones are larger; None: nothing is known

    @classmethod
    def from_answer(cls, answer: Any) -> Verdict:
        """Of what POST /v1/judge answers. A model's answer without a kernel has a verdict, too: the status "no_kernel"."""
        try:
            json, said = answer["verdict"], answer.get("answer")
            if json is None:
                json = {"status": "no_kernel", "correct": False, "compiled": False, "summary": said["message"],
                        "feedback": said["message"], "findings": []}
            if not isinstance(json["status"], str):
                raise TypeError("a status is a text")
            return cls(json, id=str(answer.get("id", "")), reward=answer.get("reward"), answer=said, rank=answer.get("rank"))
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise KernelwrightError(f"the service's answer holds no verdict: {str(answer)[:200]}") from problem

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.json)

    def __len__(self) -> int:
        return len(self.json)

    def __repr__(self) -> str:
        return f"Verdict({self.status!r}, speedup={self.speedup})"

    @property
    def status(self) -> str:
        """"correct", "wrong", "compile_error", ...; "no_kernel" where an answer held none."""
        return str(self.json["status"])

    @property
    def correct(self) -> bool:
        return bool(self.json["correct"])

    @property
    def compiled(self) -> bool:
        return bool(self.json["compiled"])

    @property
    def judged(self) -> bool:
        """False: the judge itself failed, so this says nothing about the kernel and must not be learned from."""
        return self.status != "internal_error"

    @property
    def speedup(self) -> float | None:
        """Over the naive kernel; None when it is not correct or there is no time."""
        return self._number("speedup_naive")

    @property
    def speedup_pytorch(self) -> float | None:
        """Over PyTorch eager, where times are measured on a GPU."""
        return self._number("speedup_pytorch")

    @property
    def time_us(self) -> float | None:
        return self._number("time_us")

    @property
    def message(self) -> str:
        """One sentence."""
        return str(self.json.get("summary", ""))

    @property
    def feedback(self) -> str:
        """The text that a model gets to improve its kernel."""
        return str(self.json.get("feedback", ""))

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What is wrong, with lines."""
        return list(self.json.get("findings", []))

    def _number(self, key: str) -> float | None:
        value = self.json.get(key)
        return None if value is None else float(value)
