"""Every notebook runs as it is kept, in a folder and a kernel of its own, and is kept in the one form."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from .form import NOTEBOOKS, in_form
from .kernel import execute

ROOT = NOTEBOOKS.parent
RECORDED = ROOT.parent / "shared" / "data"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))

every_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


#: Runs before a notebook's first cell: a picture without a title or without the meaning of its axis fails its cell.
WATCH = """
import matplotlib.pyplot

def show(show=matplotlib.pyplot.show):
    axes = matplotlib.pyplot.gcf().axes
    assert any(one.get_title(loc) for one in axes for loc in ("left", "center")), "a picture without a title"
    assert any(one.get_xlabel() or not one.axison for one in axes), "a picture whose axis is not explained"
    show()

matplotlib.pyplot.show = show
"""


def run(path: Path, folder: Path, data: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs; ``folder`` is laid out as the checkout is, so nothing is written there."""
    (folder / "notebooks").mkdir()
    example = folder / "examples" / "gate"
    shutil.copytree(ROOT / "examples" / "gate", example, ignore=shutil.ignore_patterns(".llm-reliability"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENTGUARD_")}
    environment |= {"AGENTGUARD_DATA": str(data), "IPYTHONDIR": str(folder / "ipython")}
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(WATCH))
    execute(notebook, folder / "notebooks", environment)
    return notebook


def outputs(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return list(cell.get("outputs", []))


def pictures(cell: nbformat.NotebookNode) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(cell))


def promised(cell: nbformat.NotebookNode) -> int:
    """How many pictures a cell draws, by what it says; a function that draws one counts where it is called."""
    drawn: str = cell.source
    return len(re.findall(r"^plt\.show\(\)", drawn, re.M)) + len(re.findall(r"^waterfall\(", drawn, re.M))


def check(notebook: nbformat.NotebookNode) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    said = [output for cell in code for output in outputs(cell)]
    assert not [output.text for output in said if output.output_type == "stream" and output.name == "stderr"]
    assert [pictures(cell) for cell in code] == [promised(cell) for cell in code]
    assert sum(map(promised, code)) >= 2


@every_notebook
def test_runs_without_recorded_data(path: Path, tmp_path: Path) -> None:
    check(run(path, tmp_path, tmp_path / "nowhere"))


def test_control_charts_of_measured_latencies(tmp_path: Path) -> None:
    if not (RECORDED / "ts_nab" / "series.jsonl.gz").exists():
        pytest.skip("the measured latencies are not there: ts_nab is looked for beside the checkout, in shared/data")
    notebook = run(NOTEBOOKS / "02_control_charts.ipynb", tmp_path, RECORDED)

    check(notebook)
    said = "".join(output.get("text", "") for cell in notebook.cells for output in outputs(cell))
    assert "NAB, request latency of a cloud server: 4032 values, 3 failures" in said


@every_notebook
def test_is_kept_in_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert text == in_form(text), "python tests/notebooks/form.py brings it into form"
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)  # refuses ids that are given twice, too
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@every_notebook
def test_names_no_place_on_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not re.findall(r"(?<![\w.}/:])(?:~|/(?:home|root|Users|tmp|usr|opt|mnt|var|etc|work))/|\b[A-Z]:\\\\", text)


@every_notebook
def test_tells_what_it_is_and_what_to_read_next(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    first, last = cells[0], cells[-1]

    assert first.cell_type == last.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "pip install" in first.source
    assert "## What to read next" in last.source
    assert [cell.source for cell in cells if cell.cell_type == "markdown" and len(cell.source.splitlines()) > 16] == []


@every_notebook
def test_what_it_refers_to_exists(path: Path) -> None:
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    named = re.findall(r"`([a-z_]+/[\w./-]+\.(?:md|py|yml)|[A-Z]+\.md)`", text)
    numbers = re.findall(r"[Nn]otebook (\d\d)", text)

    assert named
    assert not [name for name in named if not any((root / name).exists() for root in (ROOT, ROOT / "src/agentguard"))]
    assert set(numbers) <= {other.name[:2] for other in PATHS} - {path.name[:2]}


def test_the_index_has_them_all_in_order() -> None:
    listed = re.findall(r"\]\((\d\d_\w+\.ipynb)\)", (NOTEBOOKS / "README.md").read_text(encoding="utf-8"))

    assert listed == [path.name for path in PATHS]
    assert [name[:2] for name in listed] == ["01", "02", "03", "04", "05", "06"]


USED = {
    "cells": [
        {"cell_type": "markdown", "id": "title", "metadata": {"editable": True}, "source": "# One\n\nTwo\n"},
        {
            "cell_type": "code",
            "execution_count": 7,
            "id": "sum",
            "metadata": {"collapsed": False},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["2\n"]}],
            "source": ["\n", "print(1 + 1)"],
        },
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": []},
    ],
    "metadata": {"kernelspec": {"name": "mine", "display_name": "Mine"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_form_takes_out_what_running_leaves() -> None:
    once = in_form(json.dumps(USED))
    title, code = json.loads(once)["cells"]

    assert title == {"cell_type": "markdown", "id": "title", "metadata": {}, "source": ["# One\n", "\n", "Two"]}
    assert code["source"] == ["print(1 + 1)"]
    assert (code["id"], code["metadata"], code["outputs"], code["execution_count"]) == ("sum", {}, [], None)
    assert "mine" not in once
    assert in_form(once) == once


def test_a_picture_without_words_fails_its_cell(tmp_path: Path) -> None:
    plot = "from matplotlib import pyplot as plt\nplt.plot([1, 2])\nplt.title('Two')\n"
    notebook = nbformat.v4.new_notebook()
    cells = [WATCH, f"{plot}plt.xlabel('n')\nplt.show()", f"{plot}plt.show()"]
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]

    with pytest.raises(CellExecutionError, match="a picture whose axis is not explained"):
        execute(notebook, tmp_path, os.environ)
    assert pictures(notebook.cells[1]) == 1


def test_kernel_is_this_interpreter_and_an_assertion_that_fails_is_told(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(f"import os, sys\nassert sys.executable == {sys.executable!r}\nos.getcwd()"),
        nbformat.v4.new_code_cell("assert 1 + 1 == 3"),
    ]

    with pytest.raises(CellExecutionError, match=r"assert 1 \+ 1 == 3"):
        execute(notebook, tmp_path, os.environ)
    assert notebook.cells[0].outputs[0].data["text/plain"] == repr(str(tmp_path))
