"""What is uploaded is read in a confined process."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.python.block_traces import random_requests, write_msr
from tests.some_info import some_info

pytest.importorskip("sqlalchemy")

from sesame.datasets import DataSet, DataSetWriter, Field, RecordType
from sesame.errors import InputError
from sesame.exchange import import_trace
from sesame.repository.preparing import PREPARATIONS, prepare_confined
from sesame.repository.uploads.archives import is_archive, unpack
from sesame.repository.uploads.child import ImportLimits, ImportRefused, plain_files, run_import
from sesame.repository.uploads.importing import check_data_set

PROBE = """
import json, os, socket, subprocess, sys
from pathlib import Path
from sesame.repository.store.confinement import ProcessLimits, confine
given, out, secret = map(Path, sys.argv[1:])
missing = confine(ProcessLimits(), readable=[given], writable=[out])
def tried(call):
    try:
        call()
    except OSError as error:
        return type(error).__name__
    return "done"
print(json.dumps({
    "missing": missing,
    "user": os.getuid(),
    "socket": tried(socket.socket),
    "local socket": tried(lambda: socket.socket(socket.AF_UNIX)),
    "read": tried(lambda: (given / "a").read_bytes()),
    "change": tried(lambda: (given / "a").write_bytes(b"")),
    "write": tried(lambda: (out / "b").write_bytes(b"")),
    "secret": tried(lambda: secret.read_bytes()),
    "write elsewhere": tried(lambda: (secret.parent / "c").write_bytes(b"")),
    "signal": tried(lambda: os.kill(os.getppid(), 0)),
    "session": tried(os.setsid),
    "trace": tried(lambda: os.open("/proc/%d/mem" % os.getppid(), os.O_RDONLY)),
    "program": tried(lambda: subprocess.run([sys.executable, "-c", "import pyarrow"], check=True)),
}))
"""


def open_to_all(directory: Path) -> Path:
    directory.mkdir()
    directory.chmod(0o777)
    return directory


@pytest.fixture
def probed(tmp_path) -> dict[str, object]:
    given, out = open_to_all(tmp_path / "given"), open_to_all(tmp_path / "out")
    (given / "a").write_text("text")
    (given / "a").chmod(0o666)
    secret = open_to_all(tmp_path / "other") / "secret"
    secret.write_text("of the repository")
    secret.chmod(0o666)
    command = [sys.executable, "-c", PROBE, str(given), str(out), str(secret)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_an_import_has_no_network_and_only_its_own_files(probed):
    if any("Landlock" in one for one in probed["missing"]):
        pytest.skip(str(probed["missing"]))
    assert probed["missing"] == []
    assert (probed["read"], probed["write"], probed["program"]) == ("done", "done", "done")
    refused = ("socket", "local socket", "change", "signal", "session", "trace")
    assert [probed[name] for name in refused] == ["PermissionError"] * len(refused)
    assert probed["secret"] != "done" != probed["write elsewhere"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_import_for_root_is_another_user(probed):
    assert probed["user"] != 0


def imported(received: Path, work: Path, **limits: float):
    return asyncio.run(run_import(received, work, ImportLimits(**limits)))


@pytest.fixture
def received(tmp_path) -> Path:
    return open_to_all(tmp_path / "received")


def test_a_foreign_file_becomes_the_data_set_that_the_command_line_makes(tmp_path, received):
    trace = write_msr(received / "trace.csv", random_requests(200))
    import_trace(trace, tmp_path / "expected.sesame")
    made = imported(received, tmp_path / "work")
    assert made.unprepared == []
    found, expected = DataSet(made.data), DataSet(tmp_path / "expected.sesame")
    assert found.tables == expected.tables
    for name in found.tables:
        assert found.table(name).equals(expected.table(name))


def test_a_data_set_stays_as_it_was_sent(tmp_path, received, run_path):
    shutil.copytree(run_path, received, dirs_exist_ok=True)
    made = imported(received, tmp_path / "work")
    assert made.data == received
    assert made.unprepared == []


@pytest.mark.parametrize("text", ["NaN", '"\\u0000"', '"\\ud800"', "[" * 100_000])
def test_an_info_file_that_no_database_holds_is_refused(text, tmp_path, run_path):
    shutil.copytree(run_path, tmp_path / "run.sesame")
    info = (tmp_path / "run.sesame" / "info.json").read_text()
    changed = info.replace("{", '{"x": ' + text + ",", 1)
    (tmp_path / "run.sesame" / "info.json").write_text(changed)
    with pytest.raises(InputError, match=r"info\.json"):
        check_data_set(tmp_path / "run.sesame")


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz"])
def test_a_data_set_in_an_archive_is_unpacked(kind, tmp_path, received, run_path):
    form = {"zip": "zip", "tar": "tar", "tar.gz": "gztar", "tar.xz": "xztar"}[kind]
    shutil.make_archive(str(received / "run"), form, run_path.parent, run_path.name)
    data = imported(received, tmp_path / "work").data
    names = {one.relative_to(run_path).as_posix() for one in run_path.rglob("*") if one.is_file()}
    assert {name for name, _ in plain_files(data)} == names


def refused(received: Path, work: Path, **limits: float) -> str:
    with pytest.raises(ImportRefused) as caught:
        imported(received, work, **limits)
    return str(caught.value)


def test_a_file_of_no_known_format_is_refused_without_a_path_of_the_server(tmp_path, received):
    (received / "notes.txt").write_text("not a trace\n" * 100)
    said = refused(received, tmp_path / "work")
    assert "none of the formats" in said
    assert str(tmp_path) not in said


def test_a_table_with_fewer_records_than_described_is_refused(tmp_path, received, run_path):
    shutil.copytree(run_path, received, dirs_exist_ok=True)
    info = json.loads((received / "info.json").read_text())
    info["record_types"]["rank"]["rows"] += 1
    (received / "info.json").write_text(json.dumps(info))
    assert "rank.parquet: it has 8 records, info.json says 9" in refused(received, tmp_path / "w")


def test_a_parquet_file_with_a_lying_footer_is_refused(tmp_path, received, run_path):
    """Its pages are noise; footer and number of records are as before."""
    shutil.copytree(run_path, received, dirs_exist_ok=True)
    path = received / "rank.parquet"
    content = bytearray(path.read_bytes())
    length = int.from_bytes(content[-8:-4], "little")
    content[4 : len(content) - 8 - length] = os.urandom(len(content) - 12 - length)
    path.write_bytes(content)
    assert "rank.parquet: cannot read these records" in refused(received, tmp_path / "work")


def test_a_footer_that_claims_to_be_huge_is_refused(tmp_path, received, run_path):
    shutil.copytree(run_path, received, dirs_exist_ok=True)
    content = bytearray((received / "rank.parquet").read_bytes())
    content[-8:-4] = (0x7FFFFFF0).to_bytes(4, "little")
    (received / "rank.parquet").write_bytes(content)
    assert "cannot read these records" in refused(received, tmp_path / "work")


def test_an_import_that_needs_too_much_memory_is_refused(tmp_path, received):
    write_msr(received / "trace.csv", random_requests(20))
    assert "memory" in refused(received, tmp_path / "work", memory_bytes=150 << 20)


def test_an_import_that_takes_too_long_is_refused(tmp_path, received):
    write_msr(received / "trace.csv", random_requests(20))
    assert "took more than 0 s" in refused(received, tmp_path / "work", seconds=0.0)


# ---- Archives ----


def tar_with(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    made.size = 1 if kind == tarfile.REGTYPE else 0
    return made


@pytest.mark.parametrize(
    "hostile",
    [
        member("../escaped"),
        member("/tmp/escaped"),
        member("a/../../escaped"),
        member("a\\..\\escaped"),
        member("line\nbreak"),
        member("link", tarfile.SYMTYPE, "/etc/passwd"),
        member("link", tarfile.LNKTYPE, "../escaped"),
        member("pipe", tarfile.FIFOTYPE),
        member("device", tarfile.CHRTYPE),
        member("/".join("abcdefghijklmnopqrstuvw")),
    ],
    ids=lambda one: f"{one.name!r}-{one.type!r}",
)
def test_a_tar_does_not_escape(hostile, tmp_path):
    directory = open_to_all(tmp_path / "directory")
    archive = tar_with(tmp_path / "a.tar", member("good"), hostile)
    with pytest.raises(InputError, match="expected"):
        unpack(archive, directory, 1 << 30)
    assert not (tmp_path / "escaped").exists()
    assert all(
        one.is_relative_to(directory) and not one.is_symlink() for one in directory.rglob("*")
    )


def test_a_file_through_a_link_of_the_same_tar_is_refused(tmp_path):
    directory = open_to_all(tmp_path / "directory")
    archive = tar_with(
        tmp_path / "a.tar", member("d", tarfile.SYMTYPE, str(tmp_path)), member("d/escaped")
    )
    with pytest.raises(InputError):
        unpack(archive, directory, 1 << 30)
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "a/../../escaped"])
def test_a_zip_does_not_escape(name, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "x")
    directory = open_to_all(tmp_path / "directory")
    with pytest.raises(InputError, match="expected"):
        unpack(tmp_path / "a.zip", directory, 1 << 30)
    assert not (tmp_path / "escaped").exists()


def test_a_link_in_a_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="files and directories only"):
        unpack(tmp_path / "a.zip", open_to_all(tmp_path / "directory"), 1 << 30)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_does_not_explode(kind, tmp_path):
    """300 MB of zeros in 0.3 MB."""
    archive, zeros = tmp_path / f"a.{kind}", tmp_path / "zeros"
    with zeros.open("wb") as file:
        file.truncate(300 << 20)
    if kind == "zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
            opened.write(zeros, "zeros")
    else:
        with tarfile.open(archive, "w:gz", compresslevel=1) as opened:
            opened.add(zeros, "zeros")
    directory = open_to_all(tmp_path / "directory")
    with pytest.raises(InputError, match="unpacks to too much"):
        unpack(archive, directory, 1 << 40)
    assert sum(one.stat().st_size for one in directory.rglob("*")) < 270 << 20


def test_an_archive_of_very_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sesame.repository.uploads.archives.MOST_FILES", 10)
    archive = tar_with(tmp_path / "a.tar", *(member(f"f{i}") for i in range(11)))
    with pytest.raises(InputError, match="more than 10 files"):
        unpack(archive, open_to_all(tmp_path / "directory"), 1 << 30)


def test_a_damaged_archive_is_refused(tmp_path):
    shutil.make_archive(str(tmp_path / "a"), "gztar", open_to_all(tmp_path / "in"))
    content = bytearray((tmp_path / "a.tar.gz").read_bytes())
    (tmp_path / "a.tar.gz").write_bytes(content[: len(content) // 2])
    if is_archive(tmp_path / "a.tar.gz"):
        with pytest.raises(InputError, match="cannot unpack"):
            unpack(tmp_path / "a.tar.gz", open_to_all(tmp_path / "directory"), 1 << 30)


def test_a_link_that_an_import_leaves_is_not_followed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rank.parquet").symlink_to("/etc/passwd")
    with pytest.raises(ImportRefused, match="files and directories only"):
        plain_files(tmp_path / "data")


def test_a_name_of_a_table_that_leads_elsewhere_is_refused(tmp_path, run_path):
    shutil.copytree(run_path, tmp_path / "run.sesame")
    info = json.loads((tmp_path / "run.sesame" / "info.json").read_text())
    info["record_types"]["../rank"] = info["record_types"]["rank"]
    (tmp_path / "run.sesame" / "info.json").write_text(json.dumps(info))
    with pytest.raises(InputError, match="no name of a record type"):
        check_data_set(tmp_path / "run.sesame")


def test_records_of_megabytes_are_refused(tmp_path, received, monkeypatch):
    """16,384 equal texts are a small file, and gigabytes in memory."""
    monkeypatch.setattr("sesame.repository.uploads.importing.LARGEST_BATCH", 10 << 20)
    some = RecordType("sample", "some", (Field("text", "text", "", "long"),))
    with DataSetWriter(tmp_path / "run.sesame") as writer:
        writer.write_described_batches(some, [{"text": ["x" * 10_000] * 2000}])
        writer.finish(some_info())
    assert (tmp_path / "run.sesame" / "sample.parquet").stat().st_size < 100_000
    with pytest.raises(InputError, match=r"sample\.parquet: 16384 records are more than"):
        check_data_set(tmp_path / "run.sesame")


# ---- What `sesame serve DIR` prepares ----


def test_a_found_data_set_is_prepared_in_a_confined_process(tmp_path, run_path):
    derived, scratch = tmp_path / "derived", open_to_all(tmp_path / "scratch")
    derived.mkdir()
    copy = tmp_path / "run.sesame"
    shutil.copytree(run_path, copy)
    for one in copy.iterdir():
        one.chmod(0o600)  # another user may not read it
    assert prepare_confined(copy, derived, scratch) == []
    assert {one.name for one in derived.iterdir()} == set(PREPARATIONS)
    assert list(scratch.iterdir()) == []
    before = (derived / "summary" / "summary.json").stat().st_mtime_ns
    shutil.rmtree(derived / "search")
    assert prepare_confined(copy, derived, scratch) == []
    assert (derived / "search").is_dir()
    assert (derived / "summary" / "summary.json").stat().st_mtime_ns == before


def test_the_process_that_prepares_reads_nothing_else(tmp_path, run_path, monkeypatch):
    secret, derived = tmp_path / "secret", tmp_path / "derived"
    secret.write_text("x")
    secret.chmod(0o644)
    derived.mkdir()
    hostile = f"""
import json, sys, socket, sesame.repository.preparing as preparing
def read(data, out):
    for action in (lambda: open({str(secret)!r}).read(), lambda: socket.socket()):
        try:
            action()
        except OSError as error:
            print("refused", error.errno, file=sys.stderr)
preparing.prepare = lambda data, made, known: [] if read(data, made) else []
preparing.main(json.loads(sys.argv[1]))
"""
    real = subprocess.Popen

    def started(command, **more):
        return real((command[0], "-I", "-c", hostile, command[-1]), **more)

    monkeypatch.setattr(subprocess, "Popen", started)
    said = prepare_confined(run_path, derived, open_to_all(tmp_path / "scratch"))
    assert len(said) == 2
    assert all(line.startswith("refused") for line in said)
