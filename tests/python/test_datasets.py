"""Data sets: written whole or not at all, read back as they were, damage said in words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, all_record_types, record_type
from sesame.errors import InputError, OutputError


def test_babeltrace2_reads_the_raw_streams(run_path):
    if shutil.which("babeltrace2") is None:
        pytest.skip("babeltrace2 is not installed")
    done = subprocess.run(
        ["babeltrace2", "--clock-cycles", run_path / "raw"],
        capture_output=True,
        text=True,
        check=True,
    )
    data_set = DataSet(run_path)
    lines = done.stdout.splitlines()
    for name in ("call", "message"):
        found = [line for line in lines if f" {name}: " in line]
        assert len(found) == data_set.record_types[name]["rows"]
    sends = data_set.table("call").filter(
        np.array(data_set.table("call").column("call").to_pylist()) == "MPI_Send"
    )
    assert sum('"MPI_Send"' in line for line in lines) == sends.num_rows
    first = data_set.table("call").slice(0, 1).to_pylist()[0]
    assert any(
        f"begin_ps = {first['begin_ps']}," in line and "rank = 0 }" in line for line in lines
    )
    assert "discarded" not in done.stderr


def test_data_set_describes_all_of_its_records(run_path):
    info = DataSet(run_path).info
    for key in ("title", "description", "instrument", "target_system", "host", "begin_time"):
        assert info[key], key
    assert info["target_system"]["machine_file"].startswith("# Intel Paragon")
    assert info["command"] == ["ring", "20"]
    assert info["scenario"]["ranks"] == info["ranks"] == 8
    for name, described in info["record_types"].items():
        assert (run_path / described["file"]).is_file()
        assert described["rows"] == DataSet(run_path).table(name).num_rows
        for field in described["fields"]:
            assert field["meaning"], f"{name}.{field['name']}"


def test_records_agree_with_the_sums(run_path):
    data_set = DataSet(run_path)
    result = data_set.info["result"]
    assert data_set.table("message").num_rows == result["messages"]
    assert sum(data_set.table("pair").column("bytes").to_pylist()) == result["bytes"]
    totals = {row["name"]: row["count"] for row in data_set.table("call_total").to_pylist()}
    names = data_set.table("call").column("call").to_pylist()
    assert totals == {name: names.count(name) for name in set(names)}


def test_nothing_is_left_of_a_data_set_that_was_not_finished(tmp_path):
    with pytest.raises(RuntimeError), DataSetWriter(tmp_path / "a.sesame") as writer:
        (writer.directory / "file").write_text("x")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


WRITES_A_PART = """
import sys
from pathlib import Path
from sesame.datasets import DataSetWriter
with DataSetWriter(Path(sys.argv[1])) as writer:
    (writer.directory / "a part").write_text("")
    print(writer.directory, flush=True)
    sys.stdin.read()
"""


def test_the_next_writer_removes_what_a_killed_one_has_left(tmp_path):
    """Not while it runs, and nothing else."""
    path = tmp_path / "run.sesame"
    host = os.uname().nodename
    suffix = "abcdefgh"  # as mkdtemp() makes it
    unlocked = tmp_path / f".run.sesame.new.{host}.{suffix}"  # its writer has not locked it yet
    others = (
        *(f".run.sesame.new.elsewhere.{suffix}", f".other.new.{host}.{suffix}"),
        *(f".run.sesame.old.{host}.{suffix}", f".run.sesame.new.{host}.of-a-user"),
    )
    kept = [unlocked, *(tmp_path / name for name in others)]
    for directory in kept:
        directory.mkdir()
        if directory != unlocked:
            (directory / "data").write_text("")
    command = [sys.executable, "-c", WRITES_A_PART, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        left = Path(one.stdout.readline().strip())
        with DataSetWriter(path):
            assert (left / "a part").exists()
        one.kill()
        one.wait()
        assert sorted(tmp_path.iterdir()) == sorted([*kept, left])
        with DataSetWriter(path):
            assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_full_disk_is_an_error_in_words(tmp_path):
    full = pytest.raises(OutputError, match="No space left")
    with full, DataSetWriter(tmp_path / "a.sesame"):
        Path("/dev/full").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_force_does_not_remove_what_is_no_data_set(tmp_path):
    (tmp_path / "a.sesame").mkdir()
    (tmp_path / "a.sesame/thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match="no data set"):
        DataSetWriter(tmp_path / "a.sesame", force=True)
    (tmp_path / "notes").write_text("years of work")
    with pytest.raises(OutputError, match="no data set"):
        DataSetWriter(tmp_path / "notes", force=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "it has no info.json"),
        ("{", "not JSON"),
        ("[]", "not the info.json of a data set"),
        ('{"record_types": {}, "format_version": 99}', "data set format 99, expected 2 to 4"),
    ],
)
def test_what_is_no_data_set_is_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "info.json").write_text(text)
    with pytest.raises(InputError, match=message):
        DataSet(tmp_path)


def test_damaged_parquet_is_an_error_in_words(run_path, tmp_path):
    shutil.copytree(run_path, tmp_path / "b.sesame")
    (tmp_path / "b.sesame/rank.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match=r"rank\.parquet: cannot read these records"):
        DataSet(tmp_path / "b.sesame").table("rank")


def test_records_of_another_type_are_refused(run_path, tmp_path):
    shutil.copytree(run_path, tmp_path / "b.sesame")
    pq.write_table(pa.table({"colour": ["red"]}), tmp_path / "b.sesame/rank.parquet")
    with pytest.raises(InputError, match=r"rank\.parquet: these are other records: there is no "):
        DataSet(tmp_path / "b.sesame").table("rank")


def test_every_field_has_a_unit_that_is_known():
    units = {"", "s", "ns", "ps", "B", "rank", "bits"}
    for record in all_record_types().values():
        for field in record.fields:
            assert field.unit in units, f"{record.name}.{field.name}"


def test_info_shows_the_data_set(sesame, run_path):
    run = sesame("info", str(run_path), "--fields")
    assert run.status == 0
    for text in ("ring on 8 simulated ranks", "call", "compute_before_ps", "unscaled"):
        assert text in run.stdout
    assert json.loads(sesame("info", "--json", str(run_path)).stdout)["ranks"] == 8


def test_info_refuses_what_is_no_data_set(sesame, tmp_path):
    for path, why in ((tmp_path, "it has no info.json"), (tmp_path / "x", "no such directory")):
        run = sesame("info", str(path))
        assert run.status == 2
        assert "this is no data set" in run.stderr
        assert why in run.stderr


def test_a_table_that_cannot_be_written_is_an_error_of_output(tmp_path):
    with (
        pytest.raises(OutputError, match=r"figure\.parquet: cannot write"),
        DataSetWriter(tmp_path / "a.sesame") as writer,
    ):
        (writer.directory / "figure.parquet").mkdir()
        writer.write_records("figure", {"name": ["x"], "value": [1.0], "unit": ["s"]})


def figures(*values):
    names = [f"figure {value}" for value in values]
    return {"name": names, "value": list(values), "unit": ["s"] * len(values)}


def test_batches_are_rows_in_the_order_in_which_they_were_made(tmp_path):
    with DataSetWriter(tmp_path / "a.sesame") as writer:
        writer.write_batches("figure", (figures(at, at + 0.5) for at in range(100)))
        table = pq.read_table(writer.directory / "figure.parquet")
        assert writer.rows == {"figure": 200}
    assert table["value"].to_pylist() == [half / 2 for half in range(200)]


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_batch_that_cannot_be_written_is_an_error(tmp_path, wrong):
    batches = [figures(1.0), figures(2.0), figures(3.0)]
    batches[wrong]["value"] = ["many"]
    with pytest.raises(pa.ArrowInvalid), DataSetWriter(tmp_path / "a.sesame") as writer:
        writer.write_batches("figure", batches)
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_stored_without_a_dictionary(tmp_path):
    """Its search takes longer than all other work on a column, and gives larger files."""
    times = np.cumsum(np.random.default_rng(1).integers(1, 10_000, 100_000))
    columns = {field.name: times % 7 for field in record_type("io").fields}
    columns |= {"begin_ns": times, "call": pa.array(["read"] * len(times)).dictionary_encode()}
    with DataSetWriter(tmp_path / "run.sesame") as writer:
        writer.write_records("io", columns)
        writer.finish(some_info())
    path = tmp_path / "run.sesame/io.parquet"
    row_group = pq.ParquetFile(path).metadata.row_group(0)
    stored = {column.path_in_schema: column for column in map(row_group.column, range(14))}
    assert "RLE_DICTIONARY" in stored.pop("call").encodings
    assert all("RLE_DICTIONARY" not in column.encodings for column in stored.values())
    assert stored["begin_ns"].total_compressed_size < 2.5 * len(times)
    assert pq.read_table(path)["begin_ns"].to_pylist() == times.tolist()
