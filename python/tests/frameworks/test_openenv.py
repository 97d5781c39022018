"""The adapter for OpenEnv: its real server and client over a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

pytest.importorskip("openenv")

import uvicorn

import kernelwright as kw
from kernelwright.openenv import KernelAction, KernelClient, make_app


@contextlib.asynccontextmanager
async def server(service):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(make_app(kw.AsyncJudge(service)), port=port, log_level="warning"))
    serving = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.should_exit = True
        await serving


def test_an_episode_is_that_of_the_judge(service, judge, good, race):
    async def play():
        async with server(service) as url, KernelClient(base_url=url, message_timeout_s=600) as client:
            first = await client.reset(task="softmax", turns=2)
            results = [await client.step(KernelAction(answer=text)) for text in (race, good)]
            return first, results, await client.state()

    first, results, state = asyncio.run(play())
    assert first.observation.role == "generator" and first.observation.messages[-1]["role"] == "user" and not first.done
    course = kw.Environment("softmax", judge=judge, turns=2)
    course.reset()
    assert [one.reward for one in results] == [course.step(race).reward, course.step(good).reward]
    assert [one.done for one in results] == [False, True]
    assert results[0].observation.feedback and results[1].observation.speedup > 1
    assert state.task == "softmax" and state.best_kernel == good.strip() or state.best_kernel == good


def test_sessions_do_not_share_episodes_and_bad_wishes_are_refused(service, good):
    async def play():
        async with server(service) as url:
            async with KernelClient(base_url=url, message_timeout_s=600) as one, KernelClient(base_url=url, message_timeout_s=600) as two:
                await asyncio.gather(one.reset(task="softmax", turns=1), two.reset(seed=7, turns=1))
                with pytest.raises(Exception, match="no task|not known|there is no"):
                    await two.reset(task="no_such_task")
                with pytest.raises(Exception):
                    await two.reset(task="/etc/passwd")
                drawn = await two.reset(seed=7, turns=1)
                done = await one.step(KernelAction(answer=good))
                return drawn, done

    drawn, done = asyncio.run(play())
    assert drawn.observation.task != "softmax" and not drawn.done
    assert done.done and done.reward > 0
