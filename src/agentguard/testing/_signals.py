"""The ``Signal`` protocol as tests: one class to subclass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, ClassVar

from agentguard.testing._corpus import RESULTS
from agentguard.verification import Abstain, Past, Signal, SignalResult, ToolCall, VerificationEngine
from agentguard.verification._canonical import plain, serialise
from agentguard.verification._document import read

#: Before anything is known of the tool, and after much is.
PASTS = (Past(), Past(calls=300, values=tuple(float(number % 17) for number in range(256))))


def seen(tool: str, args: Any, result: Any, **fields: Any) -> ToolCall:
    """A call as the engine shows it to a signal: plain data."""
    return ToolCall(tool, plain(args), read(result).value, **fields)


class SignalConformance:
    """Holds a signal to the ``Signal`` protocol: subclass it in a file of tests.

    ::

        from agentguard.testing import SignalConformance


        class TestNegativeTotal(SignalConformance):
            def signal(self):
                return NegativeTotal()

            def example(self):
                return ToolCall("get_order", {"order_id": 7}, {"order_id": 7, "total": -4.0})

    ``example`` is a call that the signal has something to say of. ``without_basis`` are calls of which it has to
    abstain; a class whose signal needs no result, or no arguments, has others.
    """

    seconds: ClassVar[float] = 1.0
    """The longest that the signal may take over one call; it is called under the lock of the tool."""

    without_basis: ClassVar[Sequence[ToolCall]] = (ToolCall("tool"), ToolCall("tool", {}, {}))
    """Calls with nothing to go by."""

    def signal(self) -> Signal:
        """A new one of your signal."""
        raise NotImplementedError("define signal(self) -> Signal")

    def example(self) -> ToolCall:
        """A new call that the signal has something to say of; arguments and result are plain data."""
        raise NotImplementedError("define example(self) -> ToolCall")

    def _calls(self) -> Iterator[tuple[str, ToolCall]]:
        """Calls like the example, with what nobody expected in the place of its result, a part of it, its arguments."""
        example = self.example()
        yield "the example", example
        yield "no time", example._replace(execution_time_ms=None)
        yield "an error", example._replace(is_error=True)
        for name, make in RESULTS.items():
            yield f"result: {name}", seen(example.tool, example.args, make(), execution_time_ms=80.0)
            yield f"arguments: {name}", seen(example.tool, make(), example.result, session_id="s")
            for part in example.result if isinstance(example.result, dict) else ():
                yield f"{part}: {name}", seen(example.tool, example.args, {**example.result, part: make()})

    def test_an_engine_takes_it(self) -> None:
        """It has a tier, and a name that is no other signal's."""
        engine, name = VerificationEngine(signals=[self.signal()]), self.signal().name
        assert name in engine.verify("tool").signals
        assert name in engine.calibrate(likelihood_ratios={name: 2.0}).thresholds().likelihood_ratios

    def test_it_has_something_to_say_of_the_example(self) -> None:
        """Of a tool that is new, and of one that is well known."""
        for past in PASTS:
            answer = self.signal()(self.example(), past)
            assert not isinstance(answer, Abstain), f"it abstains: {answer.reason}"

    def test_it_abstains_aloud_without_a_basis(self) -> None:
        """Nothing to go by is no evidence, and the reason is said."""
        assert self.without_basis
        for call in self.without_basis:
            for past in PASTS:
                answer = self.signal()(call, past)
                assert isinstance(answer, Abstain), f"of {call} it says {answer}"
                assert answer.reason.strip()

    def test_it_answers_to_whatever_a_tool_returns(self) -> None:
        """Learned or not, an engine finds no fault with any answer."""
        engine, name = VerificationEngine(signals=[self.signal()]), self.signal().name
        for what, call in self._calls():
            for learn in (True, False):
                signal = self._judged(engine, call, learn=learn).signals[name]
                assert "the check failed" not in signal.detail, f"{what}: {signal.detail}"
                assert signal.detail.strip(), what
                self._is_sound(signal)

    @staticmethod
    def _judged(engine: VerificationEngine, call: ToolCall, *, learn: bool) -> Any:
        given = call._asdict()
        return engine.verify(given.pop("tool"), **given, learn=learn)

    @staticmethod
    def _is_sound(signal: SignalResult) -> None:
        assert 0.0 <= signal.score <= 1.0
        assert 0.05 <= signal.likelihood_ratio <= 20.0
        assert signal.p_value is None or 0.0 < signal.p_value <= 1.0
        assert signal.applicable or signal.likelihood_ratio == 1.0

    def test_it_remembers_nothing_between_calls(self) -> None:
        """Asked again it says the same, after other calls too, and so does another one of its kind."""
        used = self.signal()
        for past in PASTS:
            for what, call in self._calls():
                answer = used(call, past)
                assert repr(used(call, past)) == repr(answer), what
                assert repr(self.signal()(call, past)) == repr(answer), what

    def test_it_changes_nothing_of_what_it_is_given(self) -> None:
        """The result is the caller's own."""
        for what, call in self._calls():
            before = serialise([call.args, call.result])[0]
            self.signal()(call, PASTS[1])
            assert serialise([call.args, call.result])[0] == before, what

    def test_it_takes_no_longer_than_it_may(self) -> None:
        """Whatever it is given: other calls of the tool wait for it."""
        signal = self.signal()
        for what, call in self._calls():
            started = perf_counter()
            signal(call, PASTS[1])
            took = perf_counter() - started
            assert took <= self.seconds, f"{what}: {took:.2f} s"
