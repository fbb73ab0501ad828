"""The notebooks of examples/ run from the first cell to the last."""

from __future__ import annotations

import shutil

import nbformat
import pytest
from nbclient import NotebookClient
from tests.integration.installations import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["compare-machines", "traced-run-with-sql"]


@pytest.mark.few_cases(1)
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("needs Debian's MPICH")
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) >= 5


def test_the_files_hold_no_output():
    """It would differ with every run, and hide what changed."""
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert not [cell for cell in cells if cell.cell_type == "code" and cell.outputs], path
