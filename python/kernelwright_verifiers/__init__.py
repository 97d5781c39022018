"""The name under which verifiers finds our taskset and environment: its ids are modules without a dot."""

from kernelwright.verifiers import KernelEnv, KernelTaskset

__all__ = ["KernelEnv", "KernelTaskset"]
