"""TRL: the judge as a reward function of GRPOTrainer, tasks as a data set, and a task of several turns as an environment.

    from kernelwright.trl import kernel_reward, to_dataset
    trainer = GRPOTrainer(model=..., reward_funcs=kernel_reward, train_dataset=to_dataset(["softmax", "rmsnorm"]), args=...)

    trainer = GRPOTrainer(model=..., environment_factory=KernelEnv, train_dataset=to_dataset([...], environment=True), args=...)

Reward functions here are asynchronous: TRL runs them in an event loop beside others, and all answers of a batch are judged at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from .environment import AsyncEnvironment, Environment, Observation
from .judge import AsyncJudge, Judge
from .rewards import DEFAULT_SHAPE, Shape
from .scoring import Scorer, answer_text, task_of_row
from .task import TaskLike

if TYPE_CHECKING:
    import datasets

RewardFunction = Callable[..., Awaitable["list[float | None]"]]

_ASK_TOOL = "Write the kernel and submit the whole file with the tool `submit`; its answer says what to improve. The task:"


def make_kernel_reward(*, shape: Shape = DEFAULT_SHAPE, judge: AsyncJudge | str | None = None, in_flight: int = 64,
                       words: str = "task", column: str = "task") -> RewardFunction:
    """A reward function for `reward_funcs`. The data set's `column` says which task a prompt asks for.

    None, "not applicable" to TRL, where the judge itself failed: such an answer is left out. Shares of compiled and right kernels and
    the mean speedup of right ones are logged as `kernel/...`."""
    scorer = Scorer(shape=shape, judge=judge, in_flight=in_flight, words=words)

    async def kernel_reward(prompts: list[Any], completions: list[Any], log_metric: Callable[[str, float], None] | None = None,
                            **columns: Any) -> list[float | None]:
        if column not in columns:
            raise ValueError(f"the data set needs a column '{column}' with the task of each prompt")
        tasks = [task_of_row(one) for one in columns[column]]
        scored = await scorer.score_all(zip(tasks, map(answer_text, completions), strict=True))
        if log_metric is not None and scored:
            log_metric("kernel/compiled", sum(one.verdict.compiled for one in scored) / len(scored))
            log_metric("kernel/correct", sum(one.verdict.correct for one in scored) / len(scored))
            speedups = [one.verdict.speedup for one in scored if one.verdict.speedup is not None]
            if speedups:
                log_metric("kernel/speedup", sum(speedups) / len(speedups))
        return [one.total if one.judged else None for one in scored]

    return kernel_reward


_default: list[RewardFunction] = []


async def kernel_reward(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
    """`make_kernel_reward()` with its defaults."""
    if not _default:
        _default.append(make_kernel_reward())
    return await _default[0](prompts, completions, **columns)


def question(task: TaskLike, *, judge: Judge | None = None, style: str = "chatml", words: str = "task", level: str | None = None,
             target: float | None = None) -> Observation:
    """The Generator's question, as the program's own agents get it."""
    return Environment(task, judge=judge, style=style, words=words, level=level, target=target).reset()


def to_dataset(tasks: Iterable[TaskLike], *, judge: Judge | None = None, style: str = "chatml", words: str = "task",
               environment: bool = False) -> datasets.Dataset:
    """A data set of prompts, with the task in the column `task`.

    style: "chatml" gives messages, "compact" texts (for the tiny model). environment: for KernelEnv, which asks the question itself."""
    import datasets

    rows = []
    for one in tasks:
        task = task_of_row(one)
        name = task.name if isinstance(task.body, str) else task.yaml
        if environment:
            rows.append({"prompt": [{"role": "user", "content": _ASK_TOOL}], "task": name})
            continue
        asked = question(task, judge=judge, style=style, words=words)
        rows.append({"prompt": asked.messages if style == "chatml" else asked.prompt, "task": name})
    return datasets.Dataset.from_list(rows)


class KernelEnv:
    """For `environment_factory`: the model submits kernels with a tool, reads what the judge says, and is paid for its best one.

    `functools.partial(KernelEnv, turns=5)` changes the settings."""

    def __init__(self, *, turns: int = 3, reward: Shape = DEFAULT_SHAPE, judge: AsyncJudge | str | None = None,
                 words: str = "task") -> None:
        self._settings: dict[str, Any] = {"turns": turns, "reward": reward, "words": words}
        self._judge = judge
        self._environment: AsyncEnvironment | None = None
        self._begun = False
        self._done = False
        self._rewards: list[float | None] = []

    def reset(self, task: str, **columns: Any) -> str:
        """A new episode. TRL appends the text to the last message of the user."""
        judge = self._judge if isinstance(self._judge, AsyncJudge) else AsyncJudge(self._judge)
        self._environment = AsyncEnvironment(task_of_row(task), judge=judge, **self._settings)
        self._begun = self._done = False
        self._rewards = []
        # The question without what a chat model's system message says; TRL has put the tool's description there.
        asked = question(self._environment.task, judge=Judge(judge.service), words=self._settings["words"])
        return "\n\n" + "\n\n".join(message["content"] for message in asked.messages)

    async def submit(self, source: str) -> str:
        """Judges a CUDA file and says what is wrong with it, or how fast it is.

        Args:
            source: The whole CUDA file: the kernels and the function `extern "C" void launch(...)`.

        Returns:
            What the judge says.
        """
        if self._environment is None:
            return "There is no task yet."
        if self._done:
            return "The episode is over: no more kernels are judged."
        if not self._begun:
            await self._environment.reset()
            self._begun = True
        seen = await self._environment.step(source)
        self._done = seen.done
        self._rewards.append(seen.reward)
        return seen.feedback + ("" if not seen.done else "\nThat was the last one.")

    async def get_reward(self) -> float | None:
        """The best of the episode; 0 without a kernel. None: nothing could be judged, and TRL leaves the episode out."""
        if not self._rewards:
            return 0.0
        known = [one for one in self._rewards if one is not None]
        return max(known) if known else None

