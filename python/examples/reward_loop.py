"""A conversation with a model behind any OpenAI-compatible endpoint, paid turn by turn.

  kernelwright serve --listen 127.0.0.1:8000 &
  python python/examples/reward_loop.py softmax http://127.0.0.1:8000/v1 kernelwright-generator
"""

import sys

import httpx
import kernelwright as kw


def ask(address: str, model: str, messages: list[dict[str, str]]) -> str:
    answer = httpx.post(f"{address}/chat/completions", json={"model": model, "messages": messages}, timeout=600)
    answer.raise_for_status()
    return str(answer.json()["choices"][0]["message"]["content"])


def main() -> None:
    task, address, model = sys.argv[1:4]
    environment = kw.Environment(task, turns=3)
    observation = environment.reset()
    while not observation.done:
        observation = environment.step(ask(address, model, observation.messages))
        assert observation.verdict is not None
        print(observation.turn, observation.verdict.status, observation.reward, observation.verdict.speedup)
    print(observation.best_kernel or "no kernel was right")


if __name__ == "__main__":
    main()
