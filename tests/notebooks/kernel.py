"""A notebook executed from its first cell to its last, in a kernel of its own on this very interpreter."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode


class ThisInterpreter(KernelSpecManager):
    """Knows one kernel: whatever is installed for the user beside it is not asked."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        # An assertion that fails is told without colours, as in a log.
        options = ["-f", "{connection_file}", "--InteractiveShell.colors=nocolor", "--HistoryManager.enabled=False"]
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", *options], display_name="Python 3", language="python"
        )


def execute(notebook: NotebookNode, folder: Path, environment: Mapping[str, str], seconds: int = 90) -> None:
    """Fill in the outputs.

    Args:
        notebook: is changed.
        folder: the kernel's working directory.
        environment: all of the kernel's variables.
        seconds: that one cell may take.

    Raises:
        CellExecutionError: with the cell and its traceback.
    """
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:  # their paths must be short
        manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=ThisInterpreter(),
            transport="ipc",  # no port is opened
            connection_file=f"{sockets}/connection.json",
        )
        client = NotebookClient(notebook, km=manager, timeout=seconds, resources={"metadata": {"path": str(folder)}})
        # cleanup_kc: a manager that was given is else left running.
        asyncio.run(client.async_execute(env=dict(environment), cleanup_kc=True))
