"""Read Markdown, HTML and PDF in a process of its own, with little memory, a time for each document, and no secrets.

A document can be built to keep a parser busy for hours or to fill the memory. What happens to that process happens to
one document: it is reported, and the next one gets a new process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Final

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate.documents._text import Cleaned

if TYPE_CHECKING:
    from types import TracebackType


#: For one document; a book of 1,000 pages takes about half of it.
SECONDS: Final = 60.0
#: For the process, where the system can limit it.
MEMORY_BYTES: Final = 2_000_000_000
_PACKAGES: Final = {"markdown_it": "markdown-it-py", "bs4": "beautifulsoup4", "lxml": "lxml", "pypdf": "pypdf"}
#: Isolated (-I) from the folder it runs in and from variables that name code; it imports from where this process does.
_START: Final = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from agentguard.gate.documents._sandbox import serve; serve()"
)
_VARIABLES: Final = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "TEMP", "LANG", "LC_ALL")


class Reader:
    """The process that reads, started with the first document that needs it; a context manager that ends it.

    Args:
        seconds: For one document, from handing it over to its text.
        memory: In bytes.
    """

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY_BYTES) -> None:
        self._seconds = seconds
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; may be called twice."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def read(self, kind: str, data: bytes, charset: str = "") -> Cleaned:
        """The text of a document.

        Raises:
            DataError: If it cannot be read, or not in time.
            ConfigurationError: If a library is missing.
        """
        process = self._running()
        if process.stdin is None or process.stdout is None:
            raise TypeError("the reading process has no pipes")
        timer = threading.Timer(self._seconds, process.kill)
        timer.daemon = True
        timer.start()
        answer: dict[str, Any] | None = None
        try:
            _send(process.stdin, {"kind": kind, "charset": charset}, data)
            answer = _receive(process.stdout)[0]
        except (OSError, EOFError):
            pass  # it has ended, by the timer or of the document: answer stays None
        finally:
            timer.cancel()
            timer.join()
            if answer is None or (timer.finished.is_set() and process.poll() is not None):
                self.close()
        if answer is None:
            raise DataError(f"cannot be read within {self._seconds:g} seconds and {self._memory // 1_000_000:,} MB")
        if "missing" in answer:
            raise ConfigurationError(
                f"documents of kind {kind} need the package {answer['missing']}: pip install 'agentguard[gate]'"
            )
        if "problem" in answer:
            raise DataError(str(answer["problem"]))
        return Cleaned(str(answer["title"]), str(answer["text"]), tuple(map(str, answer["notes"])))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            path = [os.path.abspath(entry) for entry in sys.path if os.path.isabs(entry)]
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, with code that stands above
                [sys.executable, "-I", "-W", "ignore", "-c", _START, json.dumps(path), str(self._memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
                close_fds=True,
            )
        return self._process


def _send(stream: IO[bytes], header: dict[str, Any], data: bytes = b"") -> None:
    """One message: a line of JSON, and the bytes whose number it tells."""
    stream.write(json.dumps({**header, "bytes": len(data)}).encode() + b"\n")
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    header: dict[str, Any] = json.loads(line)
    data = stream.read(header["bytes"])
    if len(data) < header["bytes"]:
        raise EOFError
    return header, data


def serve() -> None:
    """Main loop of the process: read a document, answer with its text or the reason why not, until nobody asks."""
    _limit_memory(int(sys.argv[2]))
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            header, data = _receive(sys.stdin.buffer)
        except EOFError:
            return
        _send(answers, _answer(str(header["kind"]), data, str(header["charset"])))


def _answer(kind: str, data: bytes, charset: str) -> dict[str, Any]:
    try:
        if kind == "html":
            from agentguard.gate.documents._html import clean_html

            cleaned = clean_html(data, charset)
        elif kind == "markdown":
            from agentguard.gate.documents._markdown import clean_markdown

            cleaned = clean_markdown(data, charset)
        else:
            from agentguard.gate.documents._pdf import clean_pdf

            cleaned = clean_pdf(data)
    except DataError as error:
        return {"problem": str(error)}
    except ImportError as error:
        return {"missing": _PACKAGES.get((error.name or "").partition(".")[0], error.name or str(error))}
    except MemoryError:
        return {"problem": f"needs more than {int(sys.argv[2]) // 1_000_000:,} MB to be read"}
    except Exception as error:  # a parser raises what it likes when it is handed what it did not expect
        return {"problem": f"cannot be read as {kind}: {type(error).__name__}"}
    return cleaned._asdict()


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none; the time is limited there too
        return
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (OSError, ValueError):
        return  # a stricter limit stands already, or the system has none to set
