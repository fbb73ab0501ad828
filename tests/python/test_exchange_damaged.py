"""Every importer on damaged files: it refuses them in words, or imports what is good and counts
what is not. Never a traceback, never more memory than the file is worth."""

from __future__ import annotations

import gzip
import random
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from test_exchange_dftracer import GOLDEN
from test_exchange_otf2 import traced
from tests.python.block_traces import random_requests, write_blktrace, write_msr, write_perf
from tests.python.ctf_writer import write_trace as write_ctf
from tests.python.darshan_writer import LogContents, Record, Trace, write_log

from sesame.datasets import DataSet
from sesame.errors import SesameError
from sesame.exchange import IMPORTS, export_data_set, import_trace

SEED = 1504
MOST_BYTES = 1 << 30  # that an import of some kilobytes may have more than this process had
WORDS = (b"", b"-1", b"0", b"null", b"1e400", b"18446744073709551616", b"9" * 40, b"\xff\xfe", b"[")


def dftracer(directory: Path) -> Path:
    return Path(shutil.copy(GOLDEN / "second.pfw", directory))


def dftracer_packed(directory: Path) -> Path:
    return Path(shutil.copy(GOLDEN / "first.pfw.gz", directory))


def darshan(directory: Path) -> Path:
    segments = np.array([[i * 100, 100, 0.1 * i, 0.1 * i + 0.05] for i in range(50)])
    counters = {"OPENS": 2, "WRITES": 50, "BYTES_WRITTEN": 5000, "F_WRITE_TIME": 0.5}
    contents = LogContents(
        4,
        {1: "/a", 2: "/b"},
        [Record("POSIX", 1, 0, counters), Record("MPI-IO", 2, -1, {"COLL_OPENS": 4})],
        [
            Trace("DXT_POSIX", 1, 0, segments, segments),
            Trace("DXT_MPIIO", 2, 3, segments, segments),
        ],
    )
    write_log(directory / "job.darshan", contents)
    return directory / "job.darshan"


def otf2(directory: Path) -> Path:
    export_data_set(traced(directory / "source.sesame"), "otf2", directory / "archive")
    shutil.rmtree(directory / "source.sesame")
    return directory / "archive"


def sddf(directory: Path) -> Path:
    export_data_set(traced(directory / "source.sesame"), "sddf", directory / "run.sddf")
    shutil.rmtree(directory / "source.sesame")
    return directory / "run.sddf"


def sddf_binary(directory: Path) -> Path:
    export_data_set(traced(directory / "source.sesame"), "sddf-binary", directory / "run.sddf")
    shutil.rmtree(directory / "source.sesame")
    return directory / "run.sddf"


def blktrace(directory: Path) -> Path:
    return write_blktrace(directory, random_requests(60), cpus=1)


def blkparse(directory: Path) -> Path:
    lines = [
        f"  7,0 {i % 2} {i:8} {i * 0.001:14.9f} {100 + i % 3:5}  {'D' if i % 2 == 0 else 'C'}   R "
        f"{i // 2 * 8} + 8 [prog]"
        for i in range(120)
    ]
    (directory / "trace.txt").write_text("\n".join(lines) + "\n")
    return directory / "trace.txt"


def perf(directory: Path) -> Path:
    return write_perf(directory / "perf.txt", random_requests(60))


def msr(directory: Path) -> Path:
    return write_msr(directory / "msr.csv", random_requests(60))


def ctf(directory: Path) -> Path:
    return write_ctf(directory / "trace", "le")


SOURCES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "dftracer": ("dftracer", dftracer),
    "dftracer, packed": ("dftracer", dftracer_packed),
    "darshan": ("darshan", darshan),
    "otf2": ("otf2", otf2),
    "sddf": ("sddf", sddf),
    "sddf, binary": ("sddf", sddf_binary),
    "blktrace": ("blktrace", blktrace),
    "blkparse": ("blkparse", blkparse),
    "perf": ("perf", perf),
    "msr": ("msr", msr),
    "ctf": ("ctf", ctf),
}


def test_every_importer_is_among_them():
    assert {name for name, _ in SOURCES.values()} == set(IMPORTS)


def flip(data: bytearray, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 8))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def cut(data: bytearray, chance: random.Random) -> bytes:
    return bytes(data[: chance.randrange(len(data))])


def leave_out(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return bytes(data[:at] + data[at + chance.randrange(1, 200) :])


def repeat(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return bytes(data[: at + chance.randrange(1, 200)] + data[at:])


def fill(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    size = chance.randrange(1, 16)
    data[at : at + size] = bytes([chance.choice((0, 0x7F, 0x80, 0xFF))]) * size
    return bytes(data)


def put_word(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    word = chance.choice(WORDS)
    return bytes(data[:at] + word + data[at + len(word) :])


DAMAGES = (flip, cut, leave_out, repeat, fill, put_word)


def mutants(source: Path, number: int, chance: random.Random) -> Iterator[None]:
    """Damages one file of the source at a time, and restores it."""
    files = [source] if source.is_file() else sorted(f for f in source.rglob("*") if f.is_file())
    for _ in range(number):
        file = chance.choice(files)
        good = file.read_bytes()
        if not good:
            continue
        packed = file.name.endswith(".gz") and chance.random() < 0.5
        data = chance.choice(DAMAGES)(bytearray(gzip.decompress(good) if packed else good), chance)
        file.write_bytes(gzip.compress(data, 1) if packed else data)
        yield
        file.write_bytes(good)


@pytest.mark.parametrize("number", [10, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SOURCES)
def test_a_damaged_file_is_refused_or_imported_as_far_as_it_is_good(name, number, tmp_path):
    format_name, make = SOURCES[name]
    chance = random.Random(f"{SEED} {name}")
    source = make(tmp_path)
    there = set(tmp_path.iterdir())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    import_trace(source, tmp_path / "run.sesame", format_name=format_name)
    whole = sum(DataSet(tmp_path / "run.sesame").info["result"]["rows"].values())
    refused = imported = 0
    for _ in mutants(source, number, chance):
        try:
            result = import_trace(
                source, tmp_path / "run.sesame", format_name=format_name, force=True
            )
        except SesameError as error:
            assert str(error)
            refused += 1
        else:
            imported += 1
            assert sum(result["rows"].values()) <= 3 * whole + 100
            assert all(isinstance(line, str) for line in result["damage"])
        assert set(tmp_path.iterdir()) <= there | {tmp_path / "run.sesame"}
    assert refused + imported > number // 2
    assert imported > 0 or format_name in ("darshan", "otf2")  # these have checksums, or none
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MOST_BYTES


@pytest.mark.parametrize("bad", [-2, 1 << 31, (1 << 32) - 1])
def test_an_event_with_a_pid_that_cannot_be_costs_no_other(bad, tmp_path):
    requests = random_requests(20)
    source = write_blktrace(tmp_path, requests, cpus=1)
    data = bytearray(source.read_bytes())
    at = data.index((requests[7].pid).to_bytes(4, "little"), 48 * 30)
    data[at : at + 4] = (bad % (1 << 32)).to_bytes(4, "little")
    source.write_bytes(data)
    import_trace(source, tmp_path / "run.sesame")
    data_set = DataSet(tmp_path / "run.sesame")
    assert data_set.table("block_request").num_rows >= 19
    (damage,) = data_set.info["raw"]["damage"]
    assert damage == "1 events have a number that no record can hold"


@pytest.mark.parametrize("field", [1, 3, 8, 10])
def test_a_number_of_more_than_64_bits_costs_no_other_line(field, tmp_path):
    """Pid, time, sector and count of a line of perf."""
    source = perf(tmp_path)
    lines = source.read_text().splitlines()
    words = lines[20].split()
    old = words[field]
    digits = next(part for part in old.replace(".", " ").replace(":", " ").split() if part)
    words[field] = old.replace(digits, "8" * 21, 1)
    lines[20] = " ".join(words)
    source.write_text("\n".join(lines) + "\n")
    import_trace(source, tmp_path / "run.sesame", format_name="perf")
    data_set = DataSet(tmp_path / "run.sesame")
    assert data_set.table("block_request").num_rows >= 59
    assert data_set.info["raw"]["damage"] == ["1 events have a number that no record can hold"]
