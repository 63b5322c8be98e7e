"""The demonstration: a scripted agent on real tools of this machine, faults injected at known calls, honest counts."""

from agentguard.demo._report import DemoReport
from agentguard.demo._run import run_demo

__all__ = ["DemoReport", "run_demo"]
