"""`sesame trace` from the command line: real programs, real MPI, and what goes wrong."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.installations import MPIS, unless_sigpipe
from tests.integration.raw_records import read_records
from tests.tutorials import commands_of

from sesame.datasets import DataSet

WRITER = """
import os, signal, sys
with open("numbers", "wb", buffering=0) as file:
    for i in range(int(sys.argv[1])):
        file.write(b"12345678")
    if sys.argv[2:]:
        os.kill(os.getpid(), int(sys.argv[2]))
"""


def bytes_of(data_set: DataSet, call: str) -> list[int]:
    """Of each call of this name."""
    table = data_set.table("io", ["call", "bytes"])
    pairs = zip(table["call"].to_pylist(), table["bytes"].to_pylist(), strict=True)
    return [size for name, size in pairs if name == call]


@pytest.fixture
def trace(tmp_path: Path) -> Callable[..., Outcome]:
    """trace(*arguments): `sesame trace …` in an empty directory."""
    return lambda *arguments: run([*SESAME, "trace", *map(str, arguments)], tmp_path)


@pytest.fixture
def writer(tmp_path: Path) -> list[str]:
    """A command: Python writes N numbers, and perhaps ends itself by a signal. Without packages
    (-S): their number is in each listing of their directory, which is traced before the writes."""
    (tmp_path / "writer.py").write_text(WRITER)
    return [sys.executable, "-S", "writer.py"]


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
def test_the_tutorial_of_tracing_runs(mpi, compiled, tmp_path, monkeypatch):
    (tmp_path / "heat").symlink_to(compiled("examples/heat.c", mpi))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mpiexec").write_text(f'#!/bin/sh\nexec {MPIS[mpi].mpiexec} "$@"\n')
    (tmp_path / "bin/mpiexec").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    (tmp_path / "words.txt").write_text("\n".join(str(i * 7919 % 5000) for i in range(5000)) + "\n")
    lines = commands_of("tutorial-trace.md")
    assert len(lines) > 8
    for line in lines:
        if "--from-raw" in line:  # a job script would have done this
            sesame = shlex.join([*SESAME, "trace", "--environment", "raw"])
            run(["bash", "-c", f'eval "$({sesame})"; sort words.txt > again.txt'], tmp_path)
        outcome = run([*SESAME, *shlex.split(line)[1:]], tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    sort = DataSet(tmp_path / "sort.sesame")
    assert sort.info["result"]["discarded"] == 0
    assert sum(bytes_of(sort, "fwrite")) == (tmp_path / "words.txt").stat().st_size
    assert not DataSet(tmp_path / "io.sesame").has("mpi")
    assert DataSet(tmp_path / "pruned.sesame").info["result"]["dropped"] > 0


def test_messages_of_a_real_run_are_whole(compiled, trace, tmp_path):
    outcome = trace(
        "-o", "heat.sesame", "--", "mpiexec.mpich", "-n", "2", compiled("examples/heat.c")
    )
    assert outcome.status == 0, outcome.stderr
    assert "0 lost" in outcome.stderr
    result = DataSet(tmp_path / "heat.sesame").info["result"]
    assert result["unmatched"]["messages"] == 0
    assert result["processes"] == 2
    counts = Counter(DataSet(tmp_path / "heat.sesame").table("mpi")["call"].to_pylist())
    # 200 steps: each of two ranks exchanges with one neighbour and with none on the other side.
    assert counts["MPI_Isend"] == counts["MPI_Irecv"]
    assert counts["MPI_Isend"] >= 2 * 200


def test_the_exit_status_is_that_of_the_command(trace, writer):
    assert trace("-o", "a.sesame", "--", "sh", "-c", "cat /dev/null; exit 7").status == 7
    assert trace("-o", "b.sesame", "--", *writer, 10, 15).status == 128 + 15


def test_a_killed_process_leaves_what_it_wrote(trace, writer, tmp_path):
    outcome = trace("-o", "run.sesame", "--", *writer, 20000, 9)
    assert outcome.status == 128 + 9
    data_set = DataSet(tmp_path / "run.sesame")
    process = data_set.table("process").to_pylist()[0]
    assert process["outcome"] == "cut off"
    written = len(bytes_of(data_set, "write"))
    assert 10000 < written < 20000
    assert process["discarded"] >= 20000 - written
    assert f"{data_set.info['result']['discarded']:,} lost" in outcome.stderr
    assert "cut off" in outcome.stderr


def test_ctrl_c_leaves_what_a_quiet_program_did_seconds_before(tmp_path):
    """Far less than a buffer: packets end with time, too."""
    script = (
        "import itertools, time\n"
        "for n in itertools.count(): open(f'again{n}', 'w').close(); time.sleep(0.05)"
    )
    command = [*SESAME, "trace", "-o", "run.sesame", "--", sys.executable, "-c", script]
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "again90").exists():  # two packets have ended by then
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 128 + signal.SIGINT
    result = DataSet(tmp_path / "run.sesame").info["result"]
    assert result["outcome"] == "cut off"
    assert result["records"] > 20
    assert result["duration_s"] > 0.4


def test_of_a_process_killed_at_once_is_known_when_it_ran(trace, writer, tmp_path):
    before = time.time()
    assert trace("-o", "run.sesame", "--", *writer, 1, 9).status == 128 + 9
    info = DataSet(tmp_path / "run.sesame").info
    assert info["result"]["records"] == 0
    begin = datetime.fromisoformat(info["begin_time"]).timestamp()
    assert before - 1 < begin < time.time()


def test_a_limit_of_size_loses_records_and_says_how_many(trace, writer, tmp_path):
    outcome = trace("-o", "run.sesame", "--max-size", "256KiB", "--", *writer, 50000)
    assert outcome.status == 0
    assert (tmp_path / "numbers").stat().st_size == 8 * 50000
    data_set = DataSet(tmp_path / "run.sesame")
    written = len(bytes_of(data_set, "write"))
    assert 0 < written < 50000
    assert data_set.info["result"]["discarded"] >= 50000 - written
    assert data_set.info["result"]["outcome"] == "records lost"
    assert outcome.stderr.splitlines()[-2].startswith("records lost after ")
    assert "the largest size is reached" in outcome.stderr
    assert "File too large" not in outcome.stderr


def test_a_limit_below_a_buffer_keeps_what_fits(trace, writer, tmp_path):
    """As each of many ranks has that shares the limit of the run."""
    outcome = trace("-o", "run.sesame", "--max-size", "64KiB", "--", *writer, 50000)
    assert outcome.status == 0
    assert len(bytes_of(DataSet(tmp_path / "run.sesame"), "write")) > 1000


@pytest.fixture
def small_disk(tmp_path: Path):
    """Space for little more than the 4 KiB by which a destination is tried."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "sesame-test", disk], check=True)
    (disk / "before").write_bytes(bytes(20_000))
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a file system")
@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "-o", "disk/a.sesame", "--", "ls"],
        ["report", "run.sesame", "disk/a.html"],
        ["export", "run.sesame", "--to", "csv", "--file", "disk/a"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_full_disk_is_the_same_error_for_every_verb(arguments, trace, small_disk, tmp_path):
    assert trace("-o", "run.sesame", "--", "ls", "/usr/bin").status == 0
    run([*SESAME, *arguments], tmp_path).assert_refused("No space left on device")
    assert [path.name for path in small_disk.iterdir()] == ["before"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a file system")
def test_a_disk_that_fills_up_keeps_raw_streams_and_exit_status(trace, writer, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "sesame-test", disk], check=True)
    try:
        # With the packages that Python lists, the data set does not fit beside the streams.
        command = shlex.join([sys.executable, writer[-1], "100000"])
        outcome = trace("-o", "disk/run.sesame", "--", "sh", "-c", f"{command}; exit 5")
        assert outcome.status == 5
        assert "No space left on device" in outcome.stderr
        assert "the raw streams stay in disk/run.sesame.raw" in outcome.stderr
        assert [path.name for path in disk.iterdir()] == ["run.sesame.raw"]
        again = trace("-o", "run.sesame", "--from-raw", "disk/run.sesame.raw")
        assert again.status == 0, again.stderr
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
    assert (tmp_path / "numbers").stat().st_size == 8 * 100000
    assert DataSet(tmp_path / "run.sesame").info["result"]["outcome"] == "records lost"


def test_raw_streams_of_a_tracer_that_was_killed_are_found_and_named(trace, tmp_path):
    command = [*SESAME, "trace", "-o", "run.sesame", "--", "sh", "-c", "cat /dev/null; sleep 60"]
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    while not list(tmp_path.glob("run.sesame.raw/*.stream")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = trace("-o", "run.sesame", "--", "cat", "/dev/null")
    assert again.status == 2
    assert "run.sesame.raw: already has the raw streams of an interrupted run" in again.stderr
    assert trace("-o", "run.sesame", "--from-raw", "run.sesame.raw").status == 0
    assert trace("-o", "run.sesame", "--force", "--", "cat", "/dev/null").status == 0
    assert not (tmp_path / "run.sesame.raw").exists()


def test_a_sleep_that_ctrl_c_ends_is_not_called_unknown(tmp_path):
    command = [*SESAME, "trace", "-o", "run.sesame", "--", "sleep", "60"]
    process = subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    names: list[str] = []
    while names != ["sleep"]:
        assert process.poll() is None
        pids = children.read_text().split()
        names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids]
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "sleep was ended by SIGINT and recorded nothing" in said


@pytest.mark.parametrize("verb", [["trace"], ["measure", "run"]], ids=" ".join)
def test_an_unknown_option_is_not_taken_for_the_command(verb, tmp_path):
    outcome = run([*SESAME, *verb, "--reprot", "d.html", "--", "true"], tmp_path)
    assert outcome.status == 2
    assert "No such option" in outcome.stderr
    assert "--reprot" in outcome.stderr


@pytest.mark.parametrize(("name", "traced"), [("sshock", True), ("ssh", False), ("srun", False)])
def test_a_launcher_is_known_by_its_whole_name(name, traced, trace, tmp_path):
    (tmp_path / name).symlink_to("/bin/cat")
    outcome = trace("-o", "run.sesame", "--", f"./{name}", "/dev/null")
    assert (outcome.status == 0) == traced
    assert (tmp_path / "run.sesame").exists() == traced


def wait_for_program(name: str, session: int) -> None:
    """Until one of that name runs in the session."""
    end = time.monotonic() + 60
    while True:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                before, _, after = stat.read_text().rpartition(")")
                if before.endswith(f"({name}") and after.split()[3] == str(session):
                    return
        assert time.monotonic() < end
        time.sleep(0.01)


def test_ctrl_c_is_for_the_program_and_the_rest_is_kept(tmp_path):
    command = [*SESAME, "trace", "-o", "run.sesame", "--", "sh", "-c", "cat /dev/null; sleep 60"]
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    wait_for_program("sleep", process.pid)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 128 + signal.SIGINT
    assert DataSet(tmp_path / "run.sesame").has("process")
    assert [path.name for path in tmp_path.iterdir()] == ["run.sesame"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a command to run"),
        (["--", "./missing"], "./missing: no such program"),
        (["--", "/etc/passwd"], "/etc/passwd: this is not an executable program"),
        (["--max-size", "many", "--", "true"], "many"),
        (["--from-raw", ".", "-o", "run.sesame"], "metadata"),
        (["--from-raw", "nowhere"], "nowhere: there is no such directory"),
    ],
)
def test_wrong_use_is_reported_once(arguments, message, trace, tmp_path):
    trace(*arguments).assert_refused(message)
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_is_not_written_over_unasked(trace):
    assert trace("-o", "run.sesame", "--", "cat", "/dev/null").status == 0
    again = trace("-o", "run.sesame", "--", "cat", "/dev/null")
    assert again.status == 2
    assert "already there" in again.stderr
    assert trace("-o", "run.sesame", "--force", "--", "cat", "/dev/null").status == 0


def test_a_program_that_cannot_be_traced_is_reported(trace, tmp_path):
    (tmp_path / "static.c").write_text("int main(void) { return 3; }\n")
    subprocess.run(["cc", "-static", "static.c", "-o", "static"], cwd=tmp_path, check=True)
    outcome = trace("-o", "run.sesame", "--", "./static")
    assert outcome.status == 3
    assert "statically linked" in outcome.stderr
    assert not (tmp_path / "run.sesame").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["./missing"], "./missing: no such program"),
        (["./data.txt"], "./data.txt: this is not an executable program"),
        (["data.txt"], "write ./data.txt"),
        (["missing-program"], "no such program among missing-program"),
        (["./static"], "static is statically linked"),
    ],
)
def test_what_a_launcher_could_not_run_is_reported(words, message, trace, tmp_path):
    if shutil.which("mpiexec.mpich") is None:
        pytest.skip("mpiexec.mpich is not installed")
    (tmp_path / "data.txt").write_text("data\n")
    (tmp_path / "static.c").write_text("int main(void) { return 3; }\n")
    subprocess.run(["cc", "-static", "static.c", "-o", "static"], cwd=tmp_path, check=True)
    outcome = unless_sigpipe(
        lambda: trace("-o", "run.sesame", "--", "mpiexec.mpich", "-n", "1", *words)
    )
    assert outcome.status not in (0, 2)
    assert message in outcome.stderr
    assert ("statically linked" in outcome.stderr) == (words == ["./static"])
    assert not (tmp_path / "run.sesame").exists()


def test_a_damaged_stream_gives_what_stands_before_the_damage(trace, writer, tmp_path):
    trace("-o", "whole.sesame", "--keep-raw", "--", *writer, 20000)
    raw = tmp_path / "whole.sesame/raw"
    stream = max(raw.glob("*.stream"), key=lambda path: path.stat().st_size)
    data = stream.read_bytes()
    stream.write_bytes(data[: len(data) // 2] + b"\xff" * 64 + data[len(data) // 2 + 64 :])
    outcome = trace("-o", "rest.sesame", "--from-raw", raw)
    assert outcome.status == 0, outcome.stderr
    result = DataSet(tmp_path / "rest.sesame").info["result"]
    assert result["damage"]
    assert "damaged" in outcome.stderr
    rest = len(DataSet(tmp_path / "rest.sesame").table("io"))
    assert 0 < rest < len(DataSet(tmp_path / "whole.sesame").table("io"))


def test_a_newer_format_is_refused(trace, tmp_path):
    trace("-o", "run.sesame", "--keep-raw", "--", "cat", "/dev/null")
    metadata = tmp_path / "run.sesame/raw/metadata"
    text = metadata.read_text()
    metadata.write_text(re.sub(r"traced_format = \d+", "traced_format = 99", text))
    trace("-o", "new.sesame", "--from-raw", metadata.parent).assert_refused("99")


@pytest.mark.parametrize("beside", ["{one}; {one}", "{one} & {one} & wait"])
@pytest.mark.parametrize("outer", ["", "export PMIX_NAMESPACE=outer\n"], ids=["", "in a PMIx job"])
def test_two_runs_in_one_directory_are_distinguished(outer, beside, compiled, trace, tmp_path):
    variables = run([*SESAME, "trace", "--environment", "raw"], tmp_path).stdout
    one = f"mpiexec.mpich -n 2 {compiled('examples/heat.c')} 64 5"
    script = f"{outer}{variables}\n{beside.format(one=one)}\n"
    assert run(["bash", "-c", script], tmp_path).status == 0
    joined = [one for one in read_records(tmp_path / "raw") if one.shape == "joined"]
    assert sorted(Counter(one.job for one in joined).values()) == [2, 2]
    assert trace("-o", "run.sesame", "--from-raw", "raw").status == 0
    data = DataSet(tmp_path / "run.sesame")
    assert data.info["result"]["mpi_programs"] == 2
    assert data.info["result"]["unmatched"]["messages"] == 0
    assert data.table("process")["mpi_rank"].to_pylist() == [0, 1, 0, 1]
    assert data.table("communicator")["members"].to_pylist()[0] == "0-1"
    calls = data.table("mpi").to_pydict()
    worlds = [{0, 1}, {0, 1}, {2, 3}, {2, 3}]
    pairs = zip(calls["rank"], calls["peer"], strict=True)
    assert all(peer < 0 or peer in worlds[rank] for rank, peer in pairs)


# In the place of ssh: runs the command as on another node, which is called "node".
NODE = (
    "#!/bin/sh\n"
    'while [ "${1#-}" != "$1" ]; do shift; done\n'
    "shift\n"
    'exec unshare --uts sh -c "hostname node; $*"\n'
)


def test_nodes_of_one_name_run_one_mpi_program(compiled, trace, tmp_path):
    if subprocess.run(["unshare", "--uts", "true"], check=False).returncode != 0:
        pytest.skip("needs the right to give a node a name (root)")
    launcher = tmp_path / "launcher"
    launcher.write_text(NODE)
    launcher.chmod(0o755)
    words = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", launcher]
    words += ["-localhost", "127.0.0.1", "-hosts", "first:1,second:1"]
    words += ["-n", "2", compiled("examples/heat.c"), "64", "5"]
    done = trace("-o", "run.sesame", "--", *words)
    assert done.status == 0, done.stderr
    data = DataSet(tmp_path / "run.sesame")
    processes = data.table("process", ["rank", "mpi_rank", "host"]).to_pylist()
    assert [row for row in processes if row["mpi_rank"] >= 0] == [
        {"rank": rank, "mpi_rank": rank, "host": "node"} for rank in range(2)
    ]
    assert data.info["result"]["mpi_programs"] == 1
    assert data.info["result"]["unmatched"]["messages"] == 0
