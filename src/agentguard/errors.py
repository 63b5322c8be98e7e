"""Every error that agentguard raises on purpose.

::

    AgentGuardError
    ├── AnswerUnsupported       an answer says what no call supports, and the guard was asked to raise
    ├── ConfigurationError      what was declared is wrong: an argument, a setting
    │   └── FileProblems        files of declarations are wrong; lists every problem
    │       └── ProfileError    … which are tool profiles
    ├── DataError               what was handed over to be read is wrong: a call, a trace
    │   └── ReceiptError        … of which no receipt can be signed
    ├── GateError               a run of the reliability gate could not be finished
    ├── ResultBlocked           a tool result was blocked, and the guard was asked to raise
    └── StoreError              what was learned could not be kept or read back

Configuration faults are never findings: a broken profile raises here, a broken *result* becomes a signal.
Each message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

__all__ = [
    "AgentGuardError",
    "AnswerUnsupported",
    "ConfigurationError",
    "DataError",
    "FileProblems",
    "GateError",
    "Problem",
    "ProfileError",
    "ReceiptError",
    "ResultBlocked",
    "StoreError",
]


class AgentGuardError(Exception):
    """The root of the tree: ``except AgentGuardError`` catches all of it and nothing else."""


class AnswerUnsupported(AgentGuardError):
    """An answer of which a claim is contradicted by its call or was never called, where ``on_unsupported="raise"``.

    Attributes:
        claims: each in the answer's own words, with why it is not supported; the message quotes neither.
    """

    def __init__(self, claims: Sequence[tuple[str, str]]) -> None:
        self.claims: tuple[tuple[str, str], ...] = tuple(claims)
        number = len(self.claims)
        super().__init__(f"the answer makes {number} claim{'' if number == 1 else 's'} that no call supports")


class ConfigurationError(AgentGuardError, ValueError):
    """An argument or a setting that cannot be used as given."""


class Problem(NamedTuple):
    """One fault in one file, with the place to mend it (``line`` is 1-based; None where there is no file)."""

    source: str
    line: int | None
    field: str
    message: str

    def __str__(self) -> str:
        position = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{position}: {self.field}: {self.message}" if self.field else f"{position}: {self.message}"


class FileProblems(ConfigurationError):
    """All problems of all files that were read together, so that one edit mends them.

    >>> print(FileProblems([Problem(".llm-reliability.yaml", 3, "use_case", "must not be empty")]))
    .llm-reliability.yaml has 1 problem:
      .llm-reliability.yaml:3: use_case: must not be empty
    """

    noun: ClassVar[str] = "files"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        sources = list(dict.fromkeys(problem.source for problem in self.problems))
        subject = f"{sources[0]} has" if len(sources) == 1 else f"{len(sources)} {self.noun} have"
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__("\n  ".join([f"{subject} {count}:", *map(str, self.problems)]))


class ProfileError(FileProblems):
    """All problems of the tool profiles that were read together.

    >>> print(ProfileError([Problem("weather.yaml", 3, "min_response_length", "must be at least 0")]))
    weather.yaml has 1 problem:
      weather.yaml:3: min_response_length: must be at least 0
    """

    noun: ClassVar[str] = "profiles"


class DataError(AgentGuardError, ValueError):
    """A call or a trace that cannot be read."""


class ReceiptError(DataError):
    """A call that no receipt can be signed for: a part of it is no JSON value, or there is more of it than is read.

    Attributes:
        part: which argument of ``sign`` it is: ``shown``.
        path: where in it: ``shown.rows[3]``. It may quote keys.
        reason: what is wrong there, and what to do; it quotes nothing of the call.
    """

    def __init__(self, part: str, path: str, reason: str) -> None:
        self.part = part
        self.path = path
        self.reason = reason
        super().__init__(f"{path} cannot be signed: {reason}")


class GateError(AgentGuardError):
    """A run of the reliability gate that could not be finished: a model did not answer, a stage broke its contract.

    Attributes:
        stage: the name of the stage that failed; empty where it was none.
        run_id: of the run that failed, by which the records have it; empty where it was none.
    """

    def __init__(self, message: str, stage: str = "", run_id: str = "") -> None:
        self.stage = stage
        self.run_id = run_id
        super().__init__(f"{stage}: {message}" if stage else message)


class ResultBlocked(AgentGuardError):
    """A blocked tool result, where ``on_block="raise"`` or a plain function is guarded.

    Attributes:
        tool: the tool's name.
        call_id: the call's id, or None.
        posterior: P(fabricated or corrupted).
        reason: the explanation of the verdict; it quotes no result.
    """

    def __init__(self, tool: str, posterior: float, reason: str, call_id: str | None = None) -> None:
        self.tool = tool
        self.call_id = call_id
        self.posterior = posterior
        self.reason = reason
        super().__init__(f"the result of {tool!r} was blocked: {reason}")


class StoreError(AgentGuardError):
    """State that could not be written or read back."""
