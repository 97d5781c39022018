#!/usr/bin/env python3
"""OpenAI's own client against a real service: models, chat, streams, completions, errors. Prints how many checks passed."""

import pathlib
import sys

import openai

from service_under_test import ROOT, service

passed = 0


def check(what, true):
    global passed
    assert true, what
    passed += 1


def refused(kind, call):
    try:
        call()
    except kind as problem:
        return problem
    raise AssertionError(f"{kind.__name__} was expected")


with service() as running:
    client = openai.OpenAI(base_url=running.address + "/v1", api_key="none", max_retries=0)
    names = [model.id for model in client.models.list()]
    check("models", names == ["kernelwright-generator", "kernelwright-optimizer", "tiny"])
    check("one model", client.models.retrieve("tiny").owned_by == "kernelwright")

    ask = dict(model="kernelwright-generator", messages=[{"role": "user", "content": "softmax"}], temperature=0, seed=1)
    whole = client.chat.completions.create(**ask)
    kernel = whole.choices[0].message.content
    check("a kernel", "__global__" in kernel and "launch" in kernel)
    check("it stopped by itself", whole.choices[0].finish_reason == "stop")
    check("usage", whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0)

    stream = client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    check("the stream says the same", text == kernel)
    check("in many pieces", len(chunks) > 20)
    check("and its usage", chunks[-1].usage == whole.usage)

    several = client.chat.completions.create(**{**ask, "temperature": 1}, n=3, logprobs=True, max_tokens=20)
    check("three answers", [choice.index for choice in several.choices] == [0, 1, 2])
    check("of twenty tokens", all(len(choice.logprobs.content) <= 20 for choice in several.choices))
    check("with log-probabilities", all(token.logprob <= 0 for c in several.choices for token in c.logprobs.content))
    again = client.chat.completions.create(**{**ask, "temperature": 1}, n=3, logprobs=True, max_tokens=20)
    check("the seed decides", [c.message for c in again.choices] == [c.message for c in several.choices])

    question = "softmax\n```cuda\n" + (ROOT / "examples" / "softmax_shared.cu").read_text() + "```\n"
    better = client.chat.completions.create(model="kernelwright-optimizer", temperature=0,
                                            messages=[{"role": "user", "content": question}])
    check("the Optimizer answers", "__global__" in better.choices[0].message.content)

    completion = client.completions.create(model="tiny", prompt="__global__ void", max_tokens=16, temperature=0, logprobs=0)
    check("a completion", len(completion.choices[0].logprobs.token_logprobs) <= 16)
    stopped = client.completions.create(model="tiny", prompt="__global__ void", max_tokens=64, temperature=0, stop=["("])
    check("a stop string", "(" not in stopped.choices[0].text and stopped.choices[0].finish_reason == "stop")

    problem = refused(openai.NotFoundError, lambda: client.chat.completions.create(**{**ask, "model": "gpt"}))
    check("no such model", problem.code == "model_not_found")
    problem = refused(openai.BadRequestError, lambda: client.chat.completions.create(
        **{**ask, "messages": [{"role": "user", "content": "hello there"}]}))
    check("how to ask", "YAML" in problem.message and problem.param == "messages")
    refused(openai.BadRequestError, lambda: client.chat.completions.create(**ask, presence_penalty=1))
    refused(openai.BadRequestError, lambda: client.chat.completions.create(**{**ask, "temperature": 9}))
    passed += 2

print(f"{passed} passed, 0 failed")
