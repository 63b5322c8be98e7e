"""The demonstration: a scripted agent on real tools of this machine, faults injected at known calls, honest counts."""

from agentguard.demo.report import DemoReport
from agentguard.demo.run import run_demo

__all__ = ["DemoReport", "run_demo"]
