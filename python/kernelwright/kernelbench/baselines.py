"""How long PyTorch itself takes for a problem on this GPU: eager and torch.compile, in the same run as the kernels.

Device time between events, the L2 cache cleared before each call, medians with the interval of order statistics. TF32 stays off on both
sides, as in the judge. In a process of its own: a problem's file must not disturb the next one.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

_timer = """
import json, statistics, sys
import torch
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
space = {"__name__": "problem"}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), space)
torch.manual_seed(42)
with torch.no_grad():
    model = space["Model"](*space["get_init_inputs"]()).cuda()
    inputs = [each.cuda() if isinstance(each, torch.Tensor) else each for each in space["get_inputs"]()]
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")

    def times(call, trials=100):
        for _ in range(5):
            call(*inputs)
        found = []
        for _ in range(trials):
            flush.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call(*inputs)
            end.record()
            torch.cuda.synchronize()
            found.append(1000 * begin.elapsed_time(end))
        found.sort()
        half = int(trials ** 0.5)
        return {"us": statistics.median(found), "interval_us": [found[trials // 2 - half], found[trials // 2 + half]]}

    result = {"eager": times(model), "compile": times(torch.compile(model))}
print("RESULT " + json.dumps(result))
"""


def time_pytorch(source: pathlib.Path, seconds: float = 900) -> dict[str, Any]:
    """{"eager": {us, interval_us}, "compile": ...}, or {"problem": why}."""
    try:
        done = subprocess.run([sys.executable, "-c", _timer, str(source)], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"problem": f"took over {seconds:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return json.loads(lines[-1][7:]) if lines else {"problem": done.stderr.strip()[-300:]}
