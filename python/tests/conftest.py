"""The tests run against a real service: the program that KERNELWRIGHT names, or the checkout's build/."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import kernelwright as kw  # noqa: E402


@pytest.fixture(scope="session")
def service() -> Iterator[kw.Service]:
    with kw.Service(workers=2) as running:
        yield running


@pytest.fixture(scope="session")
def judge(service: kw.Service) -> kw.Judge:
    return kw.Judge(service)


@pytest.fixture(scope="session")
def good() -> str:
    return (ROOT / "examples" / "softmax_shared.cu").read_text()


@pytest.fixture(scope="session")
def race() -> str:
    return (ROOT / "tests" / "bugs" / "softmax_sync_missing_before_read.cu").read_text()
