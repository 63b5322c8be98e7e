"""The state of a run: written once a key, read afterwards, never changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar, cast, overload

from pydantic import TypeAdapter, ValidationError

from agentguard.errors import GateError
from agentguard.gate.citations import Citations, cite, resolve
from agentguard.gate.config import GateConfig
from agentguard.gate.types import Claim, ClaimVerdict, Evidence, Prompt, Response, Score

__all__ = ["GateState"]

T = TypeVar("T")


class _Key(Generic[T]):
    """One key of the state, with the type of its value; assigned to once."""

    def __init__(self, kind: type[T]) -> None:
        self.adapter: TypeAdapter[T] = TypeAdapter(kind)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, state: None, owner: type) -> _Key[T]: ...
    @overload
    def __get__(self, state: GateState, owner: type) -> T: ...
    def __get__(self, state: GateState | None, owner: type) -> T | _Key[T]:
        return self if state is None else cast(T, state.read(self.name))

    def __set__(self, state: GateState, value: T) -> None:
        state.write(self.name, value)


class GateState:
    """What a run knows so far. A stage reads what stages before it have written, and writes keys of its own.

    >>> state = GateState(GateConfig(use_case="help desk", doc_sources=[{"type": "local", "path": "docs"}]))
    >>> state.prompts = (Prompt("p1", "How long is the warranty?"),)
    >>> state.prompts[0].text
    'How long is the warranty?'
    >>> state.prompts = ()
    Traceback (most recent call last):
    agentguard.errors.GateError: the state is append-only: 'prompts' is already written

    Keys of one's own, for stages of one's own, hold JSON:

    >>> state.write("topics", {"p1": "warranty"})
    >>> state.read("topics"), state.written
    ({'p1': 'warranty'}, ('prompts', 'topics'))
    """

    prompts: _Key[tuple[Prompt, ...]] = _Key(tuple[Prompt, ...])
    responses: _Key[tuple[Response, ...]] = _Key(tuple[Response, ...])
    claims: _Key[tuple[Claim, ...]] = _Key(tuple[Claim, ...])
    evidence: _Key[tuple[Evidence, ...]] = _Key(tuple[Evidence, ...])
    verdicts: _Key[tuple[ClaimVerdict, ...]] = _Key(tuple[ClaimVerdict, ...])
    score: _Key[Score] = _Key(Score)

    def __init__(self, config: GateConfig) -> None:
        self._values: dict[str, Any] = {}
        self._config = config

    @property
    def config(self) -> GateConfig:
        """The run's configuration."""
        return self._config

    @property
    def written(self) -> tuple[str, ...]:
        """The keys written so far, in the order of writing."""
        return tuple(self._values)

    def read(self, key: str) -> Any:
        """What is written under a key; of a key of one's own a copy.

        Raises:
            GateError: where nothing is.
        """
        if key not in self._values:
            raise GateError(f"{key!r} is read before a stage has written it; the state has {_names(self.written)}")
        value = self._values[key]
        return value if key in _KEYS else json.loads(value)

    def write(self, key: str, value: Any) -> None:
        """Write a key that is not yet written.

        Raises:
            GateError: where it is, or the value is not of the key's type; keys of one's own take what JSON has.
        """
        if key == "config" or key in self._values:
            raise GateError(f"the state is append-only: {key!r} is already written")
        if key in _KEYS:
            try:
                self._values[key] = _KEYS[key].validate_python(value, strict=True)
            except ValidationError as error:
                raise GateError(f"{key!r} cannot be written: {_first(error)}") from None
            return
        try:
            self._values[key] = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise GateError(f"{key!r} must be JSON: {error}") from None

    def to_json(self, key: str) -> Any:
        """A key's value as plain JSON objects."""
        value = self.read(key)
        if key == "evidence":
            return _CITATIONS.dump_python(cite(value), mode="json")
        return _KEYS[key].dump_python(value, mode="json") if key in _KEYS else value

    def restore(self, written: Mapping[str, Any]) -> None:
        """Write keys from the JSON that ``to_json`` gave.

        Raises:
            GateError: where one is written already, or is not what its key holds.
        """
        for key, value in written.items():
            if key in _KEYS:
                try:
                    text = json.dumps(value)
                    if key == "evidence":
                        value = resolve(_CITATIONS.validate_json(text))
                    else:
                        value = _KEYS[key].validate_json(text)
                except (ValidationError, ValueError) as error:
                    said = _first(error) if isinstance(error, ValidationError) else str(error)
                    raise GateError(f"the record of {key!r} cannot be read back: {said}") from None
            self.write(key, value)


_KEYS: Final[dict[str, TypeAdapter[Any]]] = {
    name: key.adapter for name, key in vars(GateState).items() if isinstance(key, _Key)
}
_CITATIONS: Final = TypeAdapter(Citations)


def _names(keys: tuple[str, ...]) -> str:
    return ", ".join(keys) or "nothing yet"


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}"
