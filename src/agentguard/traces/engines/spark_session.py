"""A Spark session for the time of one command: quiet, on loopback where it is this machine's, and stopped after."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentguard.errors import AgentGuardError, ConfigurationError

from .workers import usable_cpus

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

__all__ = ["MASTER_VARIABLE", "spark_session"]

MASTER_VARIABLE = "SPARK_MASTER"
NEEDS = "the spark engine needs {}: pip install 'agentguard[spark]', and a JDK of version 17 or newer"

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",  # lines may be long, and a batch of them is held in memory
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


@contextmanager
def spark_session(master: str | None = None, workers: int | None = None) -> Iterator[SparkSession]:
    """A session that is stopped on leaving.

    Args:
        master: Spark's address of where to run. None: what the environment variable ``SPARK_MASTER`` says, else
            ``local[workers]``, which is this machine and listens on loopback only.
        workers: tasks at a time where nothing else says so; None: one for each processor.

    Raises:
        ConfigurationError: where PySpark, pyarrow or Java is missing.
        AgentGuardError: where Spark does not start.
    """
    try:
        import pyarrow  # noqa: F401  # what the session needs later is asked for now, before Java is started
        from pyspark import SparkConf
    except ImportError as error:
        raise ConfigurationError(NEEDS.format(error.name or "pyspark")) from None
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and shutil.which("java", path=os.path.join(home, "bin"))):
        raise ConfigurationError(NEEDS.format("Java"))
    chosen = master or os.environ.get(MASTER_VARIABLE) or f"local[{workers or usable_cpus()}]"
    is_local = chosen.startswith("local")
    settings = {**_QUIET, **(_LOOPBACK if is_local else {})}
    conf = SparkConf().setMaster(chosen).setAppName("agentguard replay").setAll(list(settings.items()))
    before = signal.getsignal(signal.SIGINT)
    # py4j logs Ctrl-C with its traceback, and Python prints that where nobody has set up logging.
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    try:
        with _started(conf, chosen, is_local=is_local) as session:
            yield session
    finally:
        logging.getLogger().removeHandler(silent)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # Spark has put its own in the place


@contextmanager
def _started(conf: SparkConf, master: str, *, is_local: bool) -> Iterator[SparkSession]:
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if is_local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the tasks' interpreter; Spark asks nothing else
    try:
        # What Java prints while it starts is no message of ours; a local Spark has nothing else to say there.
        said = {"stderr": subprocess.DEVNULL} if is_local else None
        gateway = SparkContext._gateway or launch_gateway(conf, said)  # type: ignore[no-untyped-call]  # of PySpark
        context = SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, ValueError, OSError) as error:
        raise AgentGuardError(f"Spark did not start at {master}: {str(error).splitlines()[0][:300]}") from None
    try:
        yield SparkSession(context)
    finally:
        context.stop()
