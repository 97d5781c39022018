#!/usr/bin/env python3
"""Episodes through OpenEnv: its server and its client over WebSockets; the tiny model answers, every reward is compared with the judge's.

    scripts/framework_run.sh openenv python/examples/openenv_episodes.py --episodes 50
"""

import argparse
import asyncio
import socket
import tempfile
import time

import uvicorn

import kernelwright as kw
from kernelwright.drawn import task_of_draw
from kernelwright.openenv import KernelAction, KernelClient, make_app

SHAPE = "weighted"
SETTINGS = {"style": "compact", "words": "learned", "shape": SHAPE}


async def model_answer(service, prompt, seed):
    """The bare model, by OpenAI's API of our own service."""
    body = {"model": "tiny", "prompt": prompt, "max_tokens": 600, "temperature": 0.7, "seed": seed}
    return (await service.arequest("POST", "/v1/completions", body))["choices"][0]["text"]


async def judged_again(judge, task, answers):
    """The rewards of the same answers, asked of the judge alone."""
    course = kw.AsyncEnvironment(task, judge=judge, turns=len(answers), reward=SHAPE, style="compact", words="learned")
    await course.reset()
    return [(await course.step(answer)).reward for answer in answers]


async def episode(url, service, judge, seed, turns):
    async with KernelClient(base_url=url, message_timeout_s=900) as client:
        seen = await client.reset(seed=seed, turns=turns, **SETTINGS)
        answers, rewards = [], []
        while not seen.done:
            answers.append(await model_answer(service, seen.observation.prompt, seed))
            seen = await client.step(KernelAction(answer=answers[-1]))
            rewards.append(seen.reward)
    drawn = await service.arequest("POST", "/v1/draw", {"first": seed})
    wanted = await judged_again(judge, task_of_draw(drawn["tasks"][0]), answers)
    return {"rewards": rewards, "equal": rewards == wanted, "correct": seen.observation.correct}


async def play(count, turns, at_a_time):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, kw.Service(agents="tiny", options=["--runs", folder, "--folder", folder]) as service:
        judge = kw.AsyncJudge(service)
        server = uvicorn.Server(uvicorn.Config(make_app(judge, sessions=at_a_time), port=port, log_level="warning"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.05)
        room = asyncio.Semaphore(at_a_time)

        async def one(seed):
            async with room:
                return await episode(f"http://127.0.0.1:{port}", service, judge, seed, turns)

        begin = time.perf_counter()
        results = await asyncio.gather(*(one(seed) for seed in range(count)))
        seconds = time.perf_counter() - begin
        server.should_exit = True
        await serving
        await service.aclose()
    return results, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--at-a-time", type=int, default=8)
    arguments = parser.parse_args()
    results, seconds = asyncio.run(play(arguments.episodes, arguments.turns, arguments.at_a_time))
    rewards = [reward for one in results for reward in one["rewards"]]
    equal = sum(one["equal"] for one in results)
    print(f"{len(results)} episodes, {len(rewards)} answers, {equal} episodes with the judge's own rewards, "
          f"mean reward {sum(rewards) / len(rewards):.3f}, {seconds:.0f} s")
    if equal != arguments.episodes:
        raise SystemExit("rewards differ")


if __name__ == "__main__":
    main()
