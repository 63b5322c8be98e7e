"""Ask a chat model many questions at once; tell its failures without what was sent, answered or kept secret.

Models are known by their batch call: nothing of their framework is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from agentguard.content._text import encodable
from agentguard.errors import AgentGuardError, ConfigurationError, DataError, GateError
from agentguard.gate._kept import KeptAnswers, key_of

MAX_SAID = 200
ECHO = 24
"""From so many characters on, what a message shares with what was sent counts as a quotation of it."""

# Their messages are of hosts, times and places in a text, never the text itself.
_TELLING = frozenset(
    """APIConnectionError ConnectionError HTTPClientError JSONDecodeError NoCredentialsError PartialCredentialsError
    TimeoutError TransportError""".split()
)
_CONNECTIONS = frozenset("APIConnectionError ConnectionError HTTPClientError TimeoutError TransportError".split())
_PASSING = frozenset({408, 409, 425, 429})
LONGEST_WISH = 60.0
_SECRET_NAME = re.compile("KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL", re.IGNORECASE)


def describe_failure(error: BaseException, sent: Sequence[str] = ()) -> str:
    """The error's class, the status and code that a server gave, and its message where that can be shown.

    A message is shown of failed connections, of broken JSON (the place alone), of requests that the server refused
    (status 4xx: the key, the name of the model, the rate), and of agentguard's own errors but ``DataError``. What a
    server says when it breaks, and what a parser says of an answer, may quote the answer.

    Args:
        error: What a client library raised.
        sent: The texts of the request; a message that quotes them is left out.

    >>> describe_failure(TimeoutError("timed out"))
    'TimeoutError: timed out'
    >>> describe_failure(ValueError("no JSON: the patient is called Ann"))
    'ValueError, whose message is left out, since it could quote the answer'
    """
    status, code, message = _of_server(error)
    about = [f"status {status}"] if status is not None else []
    about += [code] if code else []
    shown = f"{type(error).__name__} ({', '.join(about)})" if about else type(error).__name__
    if status is None:
        message = _of_telling(error)
        if not message and str(error):
            return f"{shown}, whose message is left out, since it could quote the answer"
    elif not 400 <= status < 500:
        message = ""
    message = presentable(message, sent)
    return f"{shown}: {message}" if message else shown


def _of_server(error: BaseException) -> tuple[int | None, str, str]:
    """Status, code and message of the answer that the error stands for, as the clients of the providers keep them."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore
        metadata, about = _mapping(response.get("ResponseMetadata")), _mapping(response.get("Error"))
        return _status(metadata.get("HTTPStatusCode")), _code(about.get("Code")), _text(about.get("Message"))
    status = _status(getattr(error, "status_code", None))
    body = _mapping(getattr(error, "body", None))  # openai, and clients generated like it
    body = _mapping(body.get("error")) or body
    # ollama keeps its server's message as ``error``.
    message = _text(body.get("message")) or _text(getattr(error, "error", None))
    return status, _code(getattr(error, "code", None)), message


def may_pass(error: BaseException) -> bool:
    """Whether the same request may be answered later: the server was busy or broken, or could not be reached."""
    status = _of_server(error)[0]
    if status is None:
        return any(kind.__name__ in _CONNECTIONS for kind in type(error).__mro__)
    return status in _PASSING or status >= 500


def wished_pause(error: BaseException) -> float:
    """Seconds that the server asks to wait, at most a minute; 0 where it says nothing."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore
        headers = _mapping(response.get("ResponseMetadata")).get("HTTPHeaders")
    else:
        headers = getattr(response, "headers", None)
    said = _text(_mapping(headers).get("retry-after"))
    return min(float(said), LONGEST_WISH) if re.fullmatch(r"[0-9]{1,9}", said) else 0.0


def _of_telling(error: BaseException) -> str:
    if isinstance(error, AgentGuardError) and not isinstance(error, DataError):
        return str(error)
    names = {kind.__name__ for kind in type(error).__mro__}
    if not names & _TELLING or any("Protocol" in name for name in names):
        return ""
    message, cause = str(error), error.__cause__ or error.__context__
    for _ in range(8):
        if cause is None:
            break
        if isinstance(cause, OSError) and cause.strerror and cause.strerror not in message:
            return f"{message.rstrip('. ')} ({cause.strerror})"
        cause = cause.__cause__ or cause.__context__
    return message


def presentable(message: str, sent: Sequence[str] = ()) -> str:
    """A message on one line, cut, secrets of the environment by their names; empty if it quotes ``sent``."""
    message = " ".join(message.split())
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET_NAME.search(name):
            message = message.replace(value, f"[{name}]")
    message = message[:MAX_SAID]
    plain = [" ".join(text.split()) for text in sent]
    windows = (message[start : start + ECHO] for start in range(max(1, len(message) - ECHO + 1)))
    quotes = len(message) >= ECHO and any(window in text for window in windows for text in plain)
    return "" if quotes else message


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _code(value: Any) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[\w.:-]{1,60}", value) else ""


def _status(value: Any) -> int | None:
    return value if isinstance(value, int) and 100 <= value <= 599 else None


# --- Asking ---

ROUNDS = 16
"""A batch has this many requests for each that may be under way: after a failure no further batch is sent."""

Accept = Callable[[int, str], bool]
"""Takes the number of a question and its answer, and returns whether that is worth keeping."""


class ChatModel(Protocol):
    """Chat model: any of LangChain's is one.

    A model with ``batch_as_completed``, as LangChain's have it, gives each answer when it comes.
    """

    def batch(self, inputs: list[Any], config: Any = None, *, return_exceptions: bool = False) -> list[Any]:
        """Answers or exceptions, in the order of the inputs."""


class Unanswered(Exception):
    """A request that failed as often as it was sent, raised from the last failure.

    Attributes:
        requests: How often it was sent.
    """

    def __init__(self, requests: int) -> None:
        super().__init__(requests)
        self.requests = requests


class Question(NamedTuple):
    """One request.

    Attributes:
        subject: What it is about, for messages: ``prompt p3``.
        user: The text that is sent.
        system: The instructions that go before it; none where it is empty.
    """

    subject: str
    user: str
    system: str = ""

    def messages(self) -> list[dict[str, str]]:
        """The request as chat messages, with all that UTF-8 cannot say replaced."""
        system = [{"role": "system", "content": encodable(self.system)}] if self.system else []
        return [*system, {"role": "user", "content": encodable(self.user)}]


def ask_all(
    model: ChatModel,
    name: str,
    questions: Sequence[Question],
    max_concurrency: int,
    kept: KeptAnswers | None = None,
    accept: Accept = lambda number, answer: True,
) -> list[str]:
    """The answers, in the order of the questions.

    Args:
        model: Who is asked.
        name: What messages call it.
        questions: Each is a conversation of its own.
        max_concurrency: How many requests are under way at once, at least 1.
        kept: Has answers from before, and takes each that comes.
        accept: Which answers it takes.

    Raises:
        GateError: Naming the first question that was not answered, and why.
    """
    keys = [key_of(name, *question) for question in questions]
    answers: dict[int, str] = {}
    for number, key in enumerate(keys):
        before = kept.get(key) if kept is not None else None
        if before is not None:
            answers[number] = before
    missing = [number for number in range(len(questions)) if number not in answers]
    size = max_concurrency * ROUNDS
    for start in range(0, len(missing), size):
        numbers = missing[start : start + size]
        part = [questions[number] for number in numbers]
        failures: dict[int, BaseException] = {}
        came = 0
        try:
            for place, answer in _as_they_come(model, part, max_concurrency):
                came += 1
                if isinstance(answer, BaseException):
                    failures[place] = answer
                    continue
                number = numbers[place]
                answers[number] = encodable(text_of(answer))
                if kept is not None and accept(number, answers[number]):
                    kept.add(keys[number], answers[number])
        except AgentGuardError:  # the records do not take it
            raise
        except Exception as error:  # of a model that does not keep to return_exceptions
            raise GateError(_unanswered(name, _told(part), error, part[0])) from None
        if came != len(part):
            raise GateError(f"{name} gave {came} answers to {len(part)} requests: its batch call is broken")
        if failures:
            first, others = min(failures), len(failures) - 1
            more = f"; {others} more of the requests sent together with it failed too" if others else ""
            why = _unanswered(name, part[first].subject, failures[first], part[first])
            raise GateError(f"{why}{more}")
    return [answers[number] for number in range(len(questions))]


def _as_they_come(model: ChatModel, part: Sequence[Question], max_concurrency: int) -> Iterable[tuple[int, Any]]:
    """Answers or exceptions, each with the number of its question; all at the end of a model that only has batches."""
    inputs = [question.messages() for question in part]
    config = {"max_concurrency": max_concurrency}
    as_completed = getattr(model, "batch_as_completed", None)
    if as_completed is None:
        return enumerate(model.batch(inputs, config=config, return_exceptions=True))
    each: Iterable[tuple[int, Any]] = as_completed(inputs, config=config, return_exceptions=True)
    return each


def text_of(answer: Any) -> str:
    """The text of a message, of its content blocks without those that hold thoughts, or of nothing at all: empty.

    >>> text_of([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Thirty "}, "days."])
    'Thirty days.'
    >>> text_of(None)
    ''
    """
    content = getattr(answer, "content", answer)
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) and not isinstance(content, bytes) else ()
    return "".join(block if isinstance(block, str) else _block_text(block) for block in blocks)


def check_concurrency(max_concurrency: int) -> int:
    """Check a number of requests, and return it.

    Raises:
        ConfigurationError: If it is no number of requests.
    """
    if isinstance(max_concurrency, bool) or not isinstance(max_concurrency, int) or max_concurrency < 1:
        raise ConfigurationError(f"max_concurrency must be a whole number of at least 1, not {max_concurrency!r}")
    return max_concurrency


def _block_text(block: Any) -> str:
    if isinstance(block, Mapping) and block.get("type", "text") == "text" and isinstance(block.get("text"), str):
        text: str = block["text"]
        return text
    return ""


def _told(part: Sequence[Question]) -> str:
    return part[0].subject if len(part) == 1 else f"{part[0].subject} or one of {len(part) - 1} sent together with it"


def _unanswered(name: str, subject: str, error: BaseException, question: Question) -> str:
    times = ""
    if isinstance(error, Unanswered) and error.__cause__ is not None:
        times = f" in {error.requests} request{'s' if error.requests != 1 else ''}"
        error = error.__cause__
    return f"{name} did not answer {subject}{times}: {describe_failure(error, (question.user, question.system))}"
