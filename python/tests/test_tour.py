"""docs/python.md is executed, block after block; and the five lines of the example."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = dict(os.environ, PYTHONPATH=str(ROOT / "python"))


def test_the_tour() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    text = "\n".join(blocks)
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "correct" in done.stdout and "race" in done.stdout


def test_the_example() -> None:
    done = subprocess.run([sys.executable, "python/examples/judge_a_kernel.py"], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True,
                          check=False)
    assert done.stdout.startswith("correct "), done.stderr
