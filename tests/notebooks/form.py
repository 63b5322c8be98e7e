"""The form in which notebooks are kept: without outputs, with ids that stay, written the same way every time.

``python tests/notebooks/form.py`` brings those of ``notebooks/`` into it, after work in Jupyter.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def in_form(text: str) -> str:
    """A notebook's text in the one form."""
    notebook = json.loads(text)
    cells = [_cell(number, cell) for number, cell in enumerate(notebook["cells"], start=1) if "".join(cell["source"])]
    whole = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _cell(number: int, cell: dict[str, Any]) -> dict[str, Any]:
    # Jupyter gives every cell an id; one of an editor that does not is made from its place.
    kept = {
        "cell_type": cell["cell_type"],
        "id": cell.get("id") or f"cell-{number:02}",
        "metadata": {},
        "source": "".join(cell["source"]).strip("\n").splitlines(keepends=True),
    }
    return {**kept, "execution_count": None, "outputs": []} if cell["cell_type"] == "code" else kept


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        path.write_text(in_form(path.read_text(encoding="utf-8")), encoding="utf-8")
