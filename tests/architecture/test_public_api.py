"""The public API is what public_api.txt says: a change of it is seen in review."""

from pathlib import Path

from .public_api import public_api

SNAPSHOT = Path(__file__).with_name("public_api.txt")


def test_public_api_is_as_recorded() -> None:
    recorded = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    api = public_api()

    gone = [line for line in recorded if line not in api]
    new = [line for line in api if line not in recorded]

    assert not gone and not new, (
        "the public API has changed; where that is meant: python -m tests.architecture.public_api > "
        f"{SNAPSHOT.relative_to(Path(__file__).parents[2])}\n" + "\n".join([*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)])
    )
