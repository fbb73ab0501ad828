"""Real runs, recorded and replayed: every data call is issued, nothing differs, nothing stays."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import SESAME, run
from tests.tutorials import commands_of

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag

SYSTEM_CALLS = {"pread": "pread64", "pwrite": "pwrite64", "fsync": "fsync"}


def regular_calls(path: Path) -> Counter[str]:
    """The application's own data calls on regular files, by name."""
    data_set = DataSet(path)
    kinds = {row["index"]: row["kind"] for row in data_set.table("file").to_pylist()}
    return Counter(
        row["call"]
        for row in data_set.table("io").to_pylist()
        if kinds.get(row["file"]) == "regular" and not row["flags"] & IoFlag.NESTED
    )


@pytest.fixture
def traced_sort(program, tmp_path: Path) -> Path:
    command = ["mpiexec.mpich", "-n", "2", str(program("sesame-sort")), "--count", "60000"]
    (tmp_path / "work").mkdir()
    path = tmp_path / "sort.sesame"
    arguments = ["trace", "-o", str(path), "--", *command, "--dir", "work"]
    outcome = run([*SESAME, *arguments], tmp_path)
    assert outcome.status == 0, outcome.stderr
    (tmp_path / "new").mkdir()
    return path


def test_a_sort_on_two_ranks_is_replayed_call_by_call(traced_sort, tmp_path):
    recorded = regular_calls(traced_sort)
    arguments = ["replay", str(traced_sort), "--dir", "new", "--json"]
    outcome = run([*SESAME, *arguments], tmp_path)
    assert outcome.status == 0, outcome.stderr
    answer = outcome.json
    # At its end both ranks remove the directory, and which one finds what is a matter of chance.
    removing = {"open", "close", "unlinkat", "rmdir"}
    assert [one for one in answer["differing"] if one["call"] not in removing] == []
    assert answer["unmatched_messages"] == 0
    assert answer["messages"] > 0
    assert recorded["pread"] >= 2
    for call in ("pread", "pwrite"):
        assert answer["calls"][call] == recorded[call]
    assert answer["bytes_read"] >= 60000 * 8
    assert list((tmp_path / "new").iterdir()) == []


def test_the_kernel_sees_every_data_call_of_the_trace(traced_sort, debian_program, tmp_path):
    debian_program("strace", "strace")
    recorded = regular_calls(traced_sort)
    wanted = ",".join(SYSTEM_CALLS.values())
    command = ["strace", "-f", "-qq", "-y", "-o", "calls.txt", "-e", f"trace={wanted}", *SESAME]
    outcome = run([*command, "replay", str(traced_sort), "--dir", "new"], tmp_path)
    assert outcome.status == 0, outcome.stderr
    text = (tmp_path / "calls.txt").read_text()
    of_the_run = rf"^\d+ +(\w+)\(\d+<{re.escape(str(tmp_path))}/new/[^>]*>, "
    issued = Counter(re.findall(of_the_run, text, re.M))
    for name in ("pread", "pwrite"):
        assert issued[SYSTEM_CALLS[name]] == recorded[name], name


def trace_and_replay(command: list[str], directory: Path) -> dict[str, Any]:
    """What `--json` of the replay says; the run was recorded in the directory."""
    outcome = run([*SESAME, "trace", "-o", "run.sesame", "--", *command], directory)
    assert outcome.status == 0, outcome.stderr
    (directory / "new").mkdir()
    fast = ["--dir", "new", "--as-fast-as-possible", "--json"]
    outcome = run([*SESAME, "replay", "run.sesame", *fast], directory)
    assert outcome.status == 0, outcome.stderr
    assert list((directory / "new").iterdir()) == []
    answer: dict[str, Any] = outcome.json
    return answer


def test_what_is_written_then_renamed_and_inherited_is_replayed(tmp_path):
    script = "mkdir r; echo 1 > r/c.lock; mv r/c.lock r/c; cat r/c; sort r/c > r/d; mv r s; cat s/d"
    answer = trace_and_replay(["sh", "-c", script], tmp_path)
    assert answer["differing"] == []
    assert answer["calls"]["rename"] == 2
    assert answer["bytes_written"] >= 4


def test_a_new_repository_is_replayed(debian_program, tmp_path):
    git = debian_program("git", "git")
    answer = trace_and_replay([str(git), "init", "-q", "here"], tmp_path)
    assert answer["differing"] == []
    assert answer["calls"]["rename"] >= 1


@pytest.mark.long
def test_a_sort_with_temporary_files_moves_all_its_data(tmp_path):
    numbers = "".join(f"{n * 7919 % 100_003}\n" for n in range(200_000))
    (tmp_path / "words.txt").write_text(numbers)
    command = ["sort", "-S", "1M", "--parallel=1", "-T", ".", "-o", "sorted.txt", "words.txt"]
    answer = trace_and_replay(command, tmp_path)
    assert answer["differing"] == []
    assert answer["calls"]["fdopen"] >= 4
    assert answer["bytes_written"] >= 2 * len(numbers)  # at first to temporary files


def test_directories_are_read_through_their_descriptors(tmp_path):
    for place in ("tree", "tree/a", "tree/a/b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "file").write_text("data")
    answer = trace_and_replay(["tar", "cf", "tree.tar", "tree"], tmp_path)
    assert answer["differing"] == []
    assert answer["calls"]["fdopendir"] == answer["calls"]["closedir"] == 3


@pytest.mark.long
def test_the_tutorial_of_replay_runs(tmp_path):
    (tmp_path / "words.txt").write_text("".join(f"{n * 7919 % 10007}\n" for n in range(10007)))
    lines = commands_of("tutorial-replay.md")
    assert len(lines) > 8
    for line in lines:
        words = shlex.split(line)
        command = [*SESAME, *words[1:]] if words[0] == "sesame" else words
        outcome = run(command, tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert list((tmp_path / "new").iterdir()) == []
    replayed = DataSet(tmp_path / "there.sesame").table("replayed")
    assert set(replayed["error"].to_pylist()) == {0}
