"""docs/formats/repository-api.md: its table is that of the real API, and its examples run."""

from __future__ import annotations

import re

import pytest
from tests.python.made_runs import write_run
from tests.python.repository_api_rows import PAGE, described, table, table_of_page
from tests.served_repository import ServedRepository

from sesame.datasets import DataSet


def test_the_page_has_every_request_as_the_server_describes_it():
    expected = table(described())
    assert expected.count("\n") > 12
    again = "python -m tests.python.repository_api_rows writes the table"
    assert table_of_page() == expected, again
    assert "|  |\n" not in expected, "a request without a description"


@pytest.fixture
def served(tmp_path):
    write_run(tmp_path / "there" / "one.sesame", 4, 'kind = "crossbar"', title="a run of the page")
    made = ServedRepository(tmp_path / "there")
    yield made
    made.close()


def test_the_examples_in_python_run(served, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
        exec(block.replace("https://perf.example.org", served.url), {})
    printed = capsys.readouterr().out
    assert "a run of the page" in printed
    address = re.search(r"^/d/\w{8}$", printed, re.M)[0]
    sent = served.repository.data_set(address[3:])
    assert sent.info == DataSet(tmp_path / "run.sesame").info
