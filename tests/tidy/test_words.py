"""Retired words are gone, and the list finds them in whatever form they come back."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import retired_words  # noqa: E402


def test_no_retired_word_is_used():
    found = list(retired_words.all_uses([]))
    assert not found, "\n".join(found[:50])


@pytest.mark.parametrize(
    "line", ["bool has_room();", "hasRoom(1)", "ROOM = 4", "A room for it.", "struct Place {"]
)
def test_a_word_is_found_in_text_and_in_identifiers(line):
    assert list(retired_words.uses("a.h", line, retired_words.retired_words()))


@pytest.mark.parametrize(
    "line", ["broom", "MPI_IN_PLACE", "in place", "Part of the run", "emplace"]
)
def test_parts_of_other_words_are_not(line):
    assert not list(retired_words.uses("a.h", line, retired_words.retired_words()))
