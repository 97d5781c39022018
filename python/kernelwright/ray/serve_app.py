"""The judge as a Ray Serve deployment that grows and shrinks with what is asked: serve run kernelwright.ray.serve_app:app

Every replica is a `kernelwright serve` of its own; a request goes to one of them as it is, and the answer comes back as it comes, streams
too. Replicas keep nothing of a client's: judge, prompts and draws are stateless. Conversations are not: deploy agents with
`kernelwright serve` itself.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

from ray import serve
from starlette.requests import Request
from starlette.responses import StreamingResponse

from ..service import Service

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "te", "trailer", "upgrade"}
_CPUS = float(os.environ.get("KERNELWRIGHT_JUDGE_CPUS", "1"))


@serve.deployment(
    autoscaling_config={"min_replicas": 1, "max_replicas": int(os.environ.get("KERNELWRIGHT_JUDGES_MOST", "8")),
                        # Kernels at a time of one replica, and one more on its way.
                        "target_ongoing_requests": max(2.0, 2 * _CPUS)},
    max_ongoing_requests=max(8, int(8 * _CPUS)),
    ray_actor_options={"num_cpus": _CPUS},
)
class Judge:
    def __init__(self) -> None:
        secret = os.environ.get("KERNELWRIGHT_JUDGE_SECRET_FILE")
        self._service = Service(workers=max(1, int(_CPUS)), options=["--judge-secret-file", secret] if secret else [])
        self._service.start()

    async def check_health(self) -> None:
        await self._service.arequest("GET", "/v1/service")

    async def __call__(self, request: Request) -> StreamingResponse:
        client = await self._service.async_client()
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP | {"origin"}]
        asked = client.build_request(request.method, target, headers=headers, content=await request.body())
        answer = await client.send(asked, stream=True)

        async def parts() -> AsyncIterator[bytes]:
            try:
                async for part in answer.aiter_raw():
                    yield part
            finally:
                await answer.aclose()

        kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
        return StreamingResponse(parts(), status_code=answer.status_code, headers=kept)


app = Judge.bind()
