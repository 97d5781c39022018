"""VERL's agent loop over our conversations: Generator, then Optimizer, several turns, token ids in and token ids out.

Stock VERL 0.9 (V1) gives every output of a session the last one's reward. `TurnOutput` keeps its own: VERL stores what `as_dict()` says,
and there the rewards are put back, each at the last token of its turn. Advantages of whole rows (rloo, grpo_vectorized, gae) then differ
from turn to turn; the estimator `grpo` alone looks at the last output only.
"""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from .environment import AsyncEnvironment, Observation
from .errors import NotJudged
from .judge import AsyncJudge
from .rewards import DEFAULT_SHAPE, Shape
from .scoring import task_of_row

_judges: dict[str | None, AsyncJudge] = {}


def _judge(url: str | None) -> AsyncJudge:
    if url not in _judges:
        _judges[url] = AsyncJudge(url)
    return _judges[url]


class TurnOutput(AgentLoopOutput):  # type: ignore[misc]
    """What VERL trains on, with rewards of its own: (place in the response, reward)."""

    token_rewards: list[tuple[int, float]] = []

    def as_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().as_dict()
        fields.pop("token_rewards", None)
        if self.token_rewards:
            scores = torch.zeros_like(fields["response_mask"], dtype=torch.float32)
            for place, reward in self.token_rewards:
                scores[place] += reward
            fields["rm_scores"] = scores
        return fields


class _Turn:
    """One answer: what was read and written, and what it was worth."""

    def __init__(self, prompt_ids: list[int], asked: Observation) -> None:
        self.prompt_ids = prompt_ids
        self.role = asked.role
        self.response_ids: list[int] = []
        self.log_probs: list[float] | None = None
        self.versions: dict[str, Any] = {}  # of the weights that wrote it
        self.reward = 0.0
        self.numbers: dict[str, float] = {}

    def take(self, output: Any) -> None:
        self.versions = {key: output.extra_fields.get(key) for key in ("min_global_steps", "max_global_steps")}


class KernelAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Settings come from the agent yaml (verl_agent.yaml has two examples).

    turns, shape, words, style, target: as in kw.Environment. style: "compact" for the tiny model, None asks the tokenizer.
    sequence: "turns" makes an output of each turn (V1 trainer), "conversation" one growing output. discount: how much of later turns'
    rewards a turn is credited with, in "turns". url: a judge elsewhere; None is the one of this process or KERNELWRIGHT_URL.
    """

    def __init__(self, *arguments: Any, turns: int = 3, shape: Shape = DEFAULT_SHAPE, words: str = "task", style: str | None = None,
                 target: float | None = None, sequence: str = "turns", discount: float = 0.4, url: str | None = None,
                 name: str | None = None, tools: Any = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        if sequence not in ("turns", "conversation"):
            raise ValueError("sequence must be 'turns' or 'conversation'")
        compact = style == "compact" or (style is None and "<|gen|>" in self.tokenizer.get_vocab())
        if compact and sequence == "conversation":
            raise ValueError("a model of compact prompts has no conversations: use sequence 'turns'")
        self._settings: dict[str, Any] = {"turns": turns, "reward": shape, "words": words, "target": target,
                                          "style": "compact" if compact else "chatml"}
        self._compact = compact
        self._sequence = sequence
        self._discount = discount
        self._judge = _judge(url)

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput] | AgentLoopOutput:
        task = task_of_row(row["reward_model"]["ground_truth"])
        kernel = (row.get("extra_info") or {}).get("kernel") or None
        environment = AsyncEnvironment(task, judge=self._judge, kernel=kernel, **self._settings)
        if self._sequence == "conversation":
            return await self._conversation(environment, sampling_params)
        return await self._turns(environment, sampling_params)

    async def _generate(self, prompt_ids: list[int], sampling_params: dict[str, Any], request: str, metrics: dict[str, float]) -> Any:
        begin = time.perf_counter()
        output = await self.server_manager.generate(request_id=request, prompt_ids=prompt_ids, sampling_params=sampling_params)
        metrics["generate_sequences"] += time.perf_counter() - begin
        return output

    async def _step(self, environment: AsyncEnvironment, ids: list[int], turn: _Turn, metrics: dict[str, float]) -> Observation:
        begin = time.perf_counter()
        answer = await self.loop.run_in_executor(None, lambda: self.tokenizer.decode(ids, skip_special_tokens=True))
        seen = await environment.step(answer)
        metrics["compute_score"] += time.perf_counter() - begin
        if seen.reward is None:
            raise NotJudged(seen.info.get("decision", "the judge failed"))
        verdict = seen.verdict
        assert verdict is not None
        turn.reward = seen.reward
        turn.numbers = {"correct": float(verdict.correct), "compiled": float(verdict.compiled), "speedup": verdict.speedup or 0.0}
        return seen

    async def _turns(self, environment: AsyncEnvironment, sampling_params: dict[str, Any]) -> list[AgentLoopOutput]:
        metrics = {"generate_sequences": 0.0, "compute_score": 0.0}
        turns: list[_Turn] = []
        seen = await environment.reset()
        request = uuid4().hex
        while not seen.done:
            prompt_ids = await self._prompt_ids(seen)
            if len(prompt_ids) > self.rollout_config.prompt_length:
                break  # cut from the left, the question would be gone
            turn = _Turn(prompt_ids, seen)
            output = await self._generate(prompt_ids, sampling_params, request, metrics)
            turn.take(output)
            turn.response_ids = list(output.token_ids)[: self.rollout_config.response_length]
            turn.log_probs = list(output.log_probs)[: len(turn.response_ids)] if output.log_probs else None
            if not turn.response_ids:
                break
            seen = await self._step(environment, turn.response_ids, turn, metrics)
            turns.append(turn)
        return self._outputs(turns, metrics)

    async def _prompt_ids(self, asked: Observation) -> list[int]:
        if not self._compact:
            # Longer than VERL allows is seen by the caller; its own way would cut the question off.
            return list(self.continuous_token_builder.build_initial_tokens(asked.messages))
        encoded = await self.loop.run_in_executor(None, lambda: self.tokenizer.encode(asked.prompt, add_special_tokens=False))
        return list(encoded)

    def _outputs(self, turns: list[_Turn], metrics: dict[str, float]) -> list[AgentLoopOutput]:
        credit, credits = 0.0, list[float]()
        for turn in reversed(turns):
            credit = turn.reward + self._discount * credit
            credits.insert(0, credit)
        outputs: list[AgentLoopOutput] = []
        for number, (turn, credit) in enumerate(zip(turns, credits, strict=True)):
            last = len(turn.response_ids) - 1
            info = {"score": turn.reward, **turn.numbers}
            outputs.append(TurnOutput(
                prompt_ids=turn.prompt_ids, response_ids=turn.response_ids, response_mask=[1] * len(turn.response_ids),
                response_logprobs=turn.log_probs, reward_score=credit, num_turns=2 * (number + 1), metrics=AgentLoopMetrics(**metrics),
                extra_fields={"turn_scores": [one.reward for one in turns], "tool_rewards": [], "turn": number, "turn_role": turn.role,
                              "turn_reward": turn.reward, "reward_extra_info": info, **turn.versions},
                token_rewards=[(last, credit)]))
        return outputs

    async def _conversation(self, environment: AsyncEnvironment,
                            sampling_params: dict[str, Any]) -> list[AgentLoopOutput] | AgentLoopOutput:
        metrics = {"generate_sequences": 0.0, "compute_score": 0.0}
        seen = await environment.reset()
        messages = [dict(one) for one in seen.messages]
        prompt_ids = await self.ct_build_initial_tokens(messages)
        ids, mask = list(prompt_ids), list[int]()
        log_probs: list[float] | None = None
        rewards: list[tuple[int, float]] = []
        turns: list[_Turn] = []
        request = uuid4().hex
        room = self.rollout_config.response_length
        while not seen.done and len(mask) < room:
            turn = _Turn(ids, seen)
            output = await self._generate(ids, sampling_params, request, metrics)
            turn.take(output)
            if log_probs is None and output.log_probs and not mask:
                log_probs = []
            merged, mask, log_probs = await self.ct_merge_assistant_token(
                ids, output.token_ids, mask, log_probs, assistant_logprobs=output.log_probs if log_probs is not None else None)
            ids = list(merged.token_ids)
            if len(mask) > room:
                break  # what is cut off is neither judged nor learned from
            seen = await self._step(environment, list(output.token_ids), turn, metrics)
            turns.append(turn)
            rewards.append((len(mask) - 1, turn.reward))
            if seen.done:
                break
            answer = self.tokenizer.decode(output.token_ids, skip_special_tokens=True)
            before = [*messages, {"role": "assistant", "content": answer}]
            messages = [*before, {"role": "user", "content": seen.feedback}]
            merged, mask, log_probs = await self.ct_merge_context_msg(before, messages, ids, mask, log_probs)
            ids = list(merged.token_ids)
        if not turns:
            return []
        response = ids[len(ids) - len(mask):]
        total = sum(reward for _, reward in rewards)
        return TurnOutput(
            prompt_ids=ids[: len(ids) - len(mask)], response_ids=response[:room], response_mask=mask[:room],
            response_logprobs=log_probs[:room] if log_probs is not None else None, reward_score=total, num_turns=2 * len(turns),
            metrics=AgentLoopMetrics(**metrics), token_rewards=rewards,
            extra_fields={"turn_scores": [one.reward for one in turns], "tool_rewards": [],
                          "reward_extra_info": {"score": total, **turns[-1].numbers},
                          "min_global_steps": turns[0].versions["min_global_steps"],
                          "max_global_steps": turns[-1].versions["max_global_steps"]})
