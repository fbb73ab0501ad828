"""The machine files that come with Sesame: where each constant comes from."""

import re
import tomllib

import pytest

from sesame import native
from sesame.analysis.explain.constants import ASSUMED, NO_SOURCE, constants_of
from sesame.analysis.machine_table import parameter_rows
from sesame.machines import shipped

# Files from before `assumed` was a key: their comments say which constants are choices.
OLDER = {"ethernet", "infiniband", "paragon", "pfssim", "sp2"}
NOT_CONSTANTS = {"name", "description", "sources", "assumed"}
NEWER = sorted(set(shipped()) - OLDER)


@pytest.mark.parametrize("name", NEWER)
def test_each_constant_has_a_source_of_the_list_or_is_marked_as_assumed(name):
    text = shipped()[name].read_text(encoding="utf-8")
    listed = {match[1] for source in tomllib.loads(text)["sources"] if (match := _key(source))}
    unmarked = [
        key
        for key, constant in constants_of(text, []).items()
        if key not in NOT_CONSTANTS
        and not constant.source.startswith(ASSUMED)
        and not _keys(constant.source) & listed
    ]
    assert unmarked == []


@pytest.mark.parametrize("name", NEWER)
def test_comments_name_only_sources_that_are_listed(name):
    text = shipped()[name].read_text(encoding="utf-8")
    listed = {match[1] for source in tomllib.loads(text)["sources"] if (match := _key(source))}
    body = text.partition("\n]\n")[2]
    used = {key for line in body.splitlines() for key in _keys(line.partition("#")[2])}
    assert used - listed == set()
    assert listed - used == set()


@pytest.mark.parametrize("name", NEWER)
def test_what_a_comment_calls_assumed_is_in_the_list(name):
    text = shipped()[name].read_text(encoding="utf-8")
    model = native.read_machine(str(shipped()[name]))
    for key, constant in constants_of(text.replace("assumed = [", "ignored = ["), []).items():
        assert constant.source != NO_SOURCE or key in NOT_CONSTANTS | {"ignored"}, key
        if constant.source.startswith(ASSUMED):
            assert any(key == one or key.startswith(f"{one}.") for one in model["assumed"]), key


def _key(source: str) -> re.Match[str] | None:
    return re.match(r"\[([\w.]+)\] ", source)


def _keys(comment: str) -> set[str]:
    return set(re.findall(r"\[([A-Z0-9][\w.]*)\]", comment))


def test_the_table_of_a_machine_has_the_time_of_packing_if_there_is_one():
    def rows_of(name: str) -> dict[str, str]:
        return dict(parameter_rows(native.read_machine(str(shipped()[name]), [])))

    assert rows_of("csd3")["packing of a block in an Alltoall"] == "65.0 ns"
    assert "packing of a block in an Alltoall" not in rows_of("paragon")
