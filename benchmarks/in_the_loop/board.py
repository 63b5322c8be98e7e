"""The leaderboard: a JSON file a contestant, held against a schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .score import Entry

__all__ = ["ROWS", "SCHEMA", "Board", "BoardError"]

ROWS = Path(__file__).with_name("rows")
SCHEMA = Path(__file__).with_name("board.schema.json")


class BoardError(Exception):
    """A row that cannot stand on the board; says why."""


@dataclass(frozen=True)
class Board:
    """The rows of the leaderboard, a JSON file each.

    Attributes:
        folder: of the files.
    """

    folder: Path

    def rows(self) -> list[Entry]:
        """All rows, checked.

        Raises:
            BoardError: for a file that is no row, for rows of different courses, and where there is none.
        """
        rows = [self.read(path) for path in sorted(self.folder.glob("*.json"))]
        if not rows:
            raise BoardError(f"there is no row in {self.folder}; measure, or enter a contestant")
        if len({entry["course"]["digest"] for entry in rows}) > 1:
            of = ", ".join(f"{entry['contestant']['key']} {entry['course']['digest']}" for entry in rows)
            raise BoardError(f"the rows are of different courses and cannot be compared: {of}; measure them again")
        return rows

    @staticmethod
    def read(path: Path) -> Entry:
        """One row.

        Raises:
            BoardError: for a file that is none.
        """
        from jsonschema import Draft202012Validator

        try:
            entry: Entry = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BoardError(f"{path} is no JSON: {error}") from None
        faults = list(Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(entry))
        if faults:
            where = "/".join(map(str, faults[0].absolute_path)) or "the row"
            raise BoardError(f"{path}: {where}: {faults[0].message}")
        return entry

    def put(self, entry: Entry) -> Path:
        """Write a row."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{entry['contestant']['key']}.json"
        path.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
        return path
