"""What can go wrong, as exceptions. All of them are KernelwrightError."""

from __future__ import annotations


class KernelwrightError(Exception):
    """The base of every exception that this package raises on purpose."""


class ProgramNotFound(KernelwrightError):
    """The program `kernelwright` is nowhere to be found; the message says where it was looked for."""


class ServiceError(KernelwrightError):
    """The service refused a request, and says why.

    `status` is the HTTP status, `code` the error's type (or code), `param` the member of the request that is wrong, if it is one.
    """

    def __init__(self, status: int, code: str | None, message: str, param: str | None = None) -> None:
        super().__init__(status, code, message, param)
        self.status = status
        self.code = code
        self.message = message
        self.param = param

    def __str__(self) -> str:
        return f"{self.message} (HTTP {self.status})"


class ServiceDied(KernelwrightError):
    """The service ended, or cannot be reached, and starting it again did not help."""


class ServiceTimeout(KernelwrightError, TimeoutError):
    """No answer within the time that the caller allows."""


class TaskError(KernelwrightError):
    """Something cannot be made into a task. The message names the operation and the place."""


class AgentError(KernelwrightError):
    """A conversation of agents ended with a problem instead of a kernel."""


class NotJudged(KernelwrightError):
    """The judge itself failed, so that there is no reward: the sample is to be left out, not to be taken for a bad one."""
