"""A small token server in the place of vLLM: token ids in, token ids and log-probabilities out, from a model of transformers on the CPU."""

import asyncio
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from transformers import AutoModelForCausalLM
from verl.workers.rollout.replica import TokenOutput


class TokenServer:
    """Has what VERL asks of a server: the coroutine `generate`. Answers one request at a time; sampling is seeded."""

    def __init__(self, model_path, most_tokens=600, seed=0):
        self.model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32).eval()
        self.most_tokens = most_tokens
        self.requests = []
        self._turn = asyncio.Lock()
        torch.manual_seed(seed)

    async def generate(self, request_id, prompt_ids, sampling_params, **_):
        async with self._turn:
            self.requests.append((request_id, list(prompt_ids)))
            return await asyncio.get_running_loop().run_in_executor(None, self._generate, list(prompt_ids), dict(sampling_params))

    def _generate(self, prompt_ids, sampling_params):
        temperature = sampling_params.get("temperature", 1.0)
        eos = self.model.generation_config.eos_token_id
        ids = torch.tensor([prompt_ids])
        with torch.inference_mode():
            made = self.model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=temperature > 0, temperature=temperature or None,
                                       top_k=0, max_new_tokens=self.most_tokens, pad_token_id=eos, return_dict_in_generate=True,
                                       output_logits=True)
        tokens = made.sequences[0, len(prompt_ids):].tolist()
        scores = [torch.log_softmax(one[0].float(), dim=-1)[token].item() for one, token in zip(made.logits, tokens, strict=True)]
        return TokenOutput(token_ids=tokens, log_probs=scores, stop_reason="completed", extra_fields={"global_steps": 0})

    def log_probs(self, prompt_ids, response_ids):
        """Of given tokens, in one pass: what a trainer computes again."""
        with torch.inference_mode():
            logits = self.model(torch.tensor([prompt_ids + response_ids])).logits[0].float()
        scores = torch.log_softmax(logits[len(prompt_ids) - 1:-1], dim=-1)
        return scores.gather(1, torch.tensor(response_ids)[:, None])[:, 0].tolist()
