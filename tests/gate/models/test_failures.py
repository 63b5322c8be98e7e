import pytest

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate.models._asking import MAX_SAID, describe_failure

from ...rows import over


class Refused(Exception):
    """As the clients of several providers raise it."""

    def __init__(self, status_code: object, body: object = None, response: object = None) -> None:
        super().__init__("whole body, with the answer")
        self.status_code = status_code
        self.body = body
        self.response = response


@over(
    ("error", "said"),
    [
        (Refused(404, {"message": "no such model"}), "Refused (status 404): no such model"),
        (Refused(404, {"type": "error", "error": {"message": "no such model"}}), "Refused (status 404): no such model"),
        (Refused(404, "a text"), "Refused (status 404)"),
        (Refused(500, {"message": "sampled: Ann"}), "Refused (status 500)"),
        (Refused("404"), "Refused, whose message is left out, since it could quote the answer"),
        (Refused(None, None, {"Error": None}), "Refused, whose message is left out, since it could quote the answer"),
        (ConfigurationError("there is no model to test"), "ConfigurationError: there is no model to test"),
        (DataError("'Ann' is no name"), "DataError, whose message is left out, since it could quote the answer"),
        (ConnectionResetError(104, "reset"), "ConnectionResetError: [Errno 104] reset"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_what_is_told_of_a_failure(error: Exception, said: str) -> None:
    assert describe_failure(error) == said


def test_the_cause_of_a_failed_connection_is_told() -> None:
    error = ConnectionError("Connection error.")
    error.__cause__ = RuntimeError("wrapped")
    error.__cause__.__context__ = OSError(113, "No route to host")

    assert describe_failure(error) == "ConnectionError: Connection error (No route to host)"


def test_a_message_is_one_line_and_not_long() -> None:
    said = describe_failure(TimeoutError("a\n b" + "c" * 1_000))

    assert said.startswith("TimeoutError: a bccc")
    assert len(said) == len("TimeoutError: ") + MAX_SAID


def test_secrets_of_the_environment_are_named_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "b7f1d2d6a0c94c52")
    monkeypatch.setenv("MY_PLACE", "Berlin-Mitte")

    assert (
        describe_failure(TimeoutError("b7f1d2d6a0c94c52 at Berlin-Mitte")) == "TimeoutError: [MY_TOKEN] at Berlin-Mitte"
    )


def test_a_quotation_of_what_was_sent_is_left_out() -> None:
    sent = "The patient is called Ann and lives in the city."

    assert describe_failure(Refused(400, {"message": f"cannot take: {sent}"}), [sent]) == "Refused (status 400)"
    assert describe_failure(Refused(400, {"message": "cannot take this"}), [sent]).endswith("cannot take this")
