"""Workers on several hosts: the data set of one process, and ends that leave nothing on any host.

The hosts are loopback addresses of this one, whose launcher only runs the command; in the last
tests they are two network namespaces.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command_line import SESAME, run
from tests.integration.orders import ENDS, assert_ends_as_with_one_process, differences
from tests.integration.process_trees import children, exists, wait_for_children, wait_until
from tests.integration.ssh_server import ssh_server
from tests.played_runs import twin_of
from tests.processors import needs_processors

import sesame

COMMON = ("--compute", "none", "--placement", "cyclic")
TWO = ("--workers", "2", "--hosts", "127.0.0.2", "--launcher", "env")
THREE = ("--workers", "4", "--hosts", "127.0.0.2,127.0.0.3", "--launcher", "env")


@pytest.fixture
def same(tmp_path: Path) -> Callable[..., None]:
    """same(hosts, command): the data set is that of one process."""

    def check(hosts: tuple[str, ...], command: list, prefix: tuple[str, ...] = ()) -> None:
        def simulated(name: str, *options: object) -> Path:
            output = tmp_path / f"{name}.sesame"
            shutil.rmtree(output, ignore_errors=True)
            words = [*prefix, *SESAME, "simulate", "-o", output, *options, *COMMON, *command]
            done = run(list(map(str, words)), tmp_path)
            assert done.status == 0, done.stderr[:2000]
            return output

        assert differences(simulated("alone"), simulated("hosts", *hosts)) == []

    return check


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("hosts", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("sharing", ["none", "interface", "links"])
def test_a_stencil_has_the_data_set_of_one_process(hosts, sharing, compiled, same):
    program = compiled("examples/heat.c")
    machine = ("--machine", "infiniband", "--set", f"network.sharing={sharing}")
    same(hosts, ["-n", 8, *machine, "--", program, 48, 20])


@pytest.mark.long
def test_collectives_and_sums_have_the_data_set_of_one_process(program, same):
    same(THREE, ["-n", 8, "--machine", "sp2", "--", program("cg"), "--class", "S"])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 4))
def test_random_programs_have_the_data_set_of_one_process(seed, compiled, same):
    program = compiled("tests/programs/model/schedule.c")
    same(THREE, ["-n", 4 + seed, "--machine", "ethernet", "--", program, seed, 20, "messages"])


def test_one_sided_communication_has_the_data_set_of_one_process(compiled, same):
    program = compiled("tests/programs/model/windows.c")
    same(THREE, ["-n", 5, "--machine", "infiniband", "--", program, 1, 10])


def test_large_messages_cross_smaller_rings(compiled, same):
    """With 9 workers a ring has 512 KiB, and the messages 1 MiB."""
    hosts = ("--workers", "9", "--hosts", "127.0.0.2", "--launcher", "env")
    mirror = compiled("tests/programs/model/mirror.c")
    same(hosts, ["-n", 9, "--machine", "infiniband", "--", mirror, "up"])


@pytest.fixture
def ring(compiled: Callable) -> Path:
    return compiled("tests/programs/model/endings.c")


@pytest.mark.parametrize(
    "more",
    [(), ("--compute", "measured", "--repeat", 2), ("--sweep", "network.latency=1us,2us")],
    ids=["a run", "repeats", "a series"],
)
def test_as_much_is_printed_as_with_one_process(more, compiled, simulate):
    program = compiled("tests/programs/model/greeting.c")
    options = (*COMMON, "-n", 4, "--machine", "infiniband", *more)
    printed = []
    for hosts in ((), TWO):
        done = simulate(*options, *hosts, "--", program)
        assert done.status == 0, done.stderr
        printed.append(sorted(line for line in done.stdout.splitlines() if "rank " in line))
    assert printed[1] == printed[0]


def test_a_library_shows_output_only_if_asked(compiled, capfd):
    settings = {"workers": 2, "hosts": ["127.0.0.2"], "launcher": "env", "placement": "cyclic"}
    settings |= {"machine": "infiniband", "ranks": 4}
    program = compiled("tests/programs/model/greeting.c")
    capfd.readouterr()
    sesame.simulate(program, repeat=2, **settings)
    assert capfd.readouterr().out == ""
    sesame.simulate(program, show_output=True, **settings)
    assert sorted(capfd.readouterr().out.splitlines()) == [f"rank {rank}" for rank in range(4)]


def test_a_traced_run_is_refused(compiled, simulate, tmp_path):
    """Its plan is a file of this host."""
    program = compiled("tests/programs/model/greeting.c")
    command = ("-n", 4, "--machine", "infiniband", *COMMON, "-o", "run.sesame", "--", program)
    assert simulate(*command).status == 0
    trace = twin_of(tmp_path / "run.sesame", tmp_path / "trace.sesame")
    done = simulate(trace, "--machine", "infiniband", *TWO)
    done.assert_refused("--hosts is for programs, and ")


def test_the_result_names_the_hosts(ring, simulate):
    options = (*TWO, *COMMON, "-n", 4, "--machine", "infiniband")
    done = simulate("--json", *options, "--", ring)
    parallel = done.json["parallel"]
    assert parallel["hosts"] == [socket.gethostname(), "127.0.0.2"]
    assert all(waited > 0 for waited in parallel["waited_s"])
    assert "2 workers on 2 hosts, protocol quantum" in simulate(*options, "--", ring).stderr


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("how", ENDS)
def test_a_run_ends_as_with_one_process(how, ring, simulate):
    assert_ends_as_with_one_process(simulate, (*THREE,), *COMMON, "--", ring, how)


def test_measured_computation_is_that_of_all_hosts(simulate, compiled):
    program = compiled("tests/programs/model/compute_only.c")
    options = ("--placement", "cyclic", "-n", 4, "--machine", "infiniband", "--json")
    alone, several = (simulate(*options, *hosts, "--", program) for hosts in ((), TWO))
    counts = [
        [done.json["measuring"][name] for name in ("samples", "regions")]
        for done in (alone, several)
    ]
    assert counts[0] == counts[1]


OTHER = ("--hosts", "127.0.0.2", "--launcher", "env")
REFUSED = {
    "too few workers": (OTHER, "2 hosts, this one included, need a worker each"),
    "another protocol": ((*TWO, "--protocol", "null"), "is for workers on one host"),
    "a host without address": (("--workers", 2, "--hosts", "no.such.invalid"), "no.such.invalid"),
    "no launcher": (("--workers", 2, "--hosts", "127.0.0.2", "--launcher", "/no/ssh"), "/no/ssh"),
    "a launcher that fails": (
        ("--workers", 2, "--hosts", "127.0.0.2", "--launcher", "false"),
        "host 127.0.0.2: the command that should start it ended with status 1",
    ),
    "copies": ((*TWO, "--compute", "measured:2"), "runs copies on this host only"),
    "kept files": ((*TWO, "--files", "kept"), "keeps the files of one host"),
    "too many stacks": ((*TWO, "-n", 512, "--stack-size", "1TiB"), "stack"),
}


# With one processor copies are refused before.
NAMES = [
    *(name for name in REFUSED if name != "copies"),
    pytest.param("copies", marks=needs_processors(2)),
]


@pytest.mark.parametrize("case", NAMES)
def test_what_several_hosts_do_not_simulate_is_refused(case, ring, simulate, tmp_path):
    options, message = REFUSED[case]
    command = ("-n", 4, "--machine", "infiniband", *COMMON, *options)
    done = simulate(*command, "-o", tmp_path / "run.sesame", "--", ring, cwd=tmp_path)
    done.assert_refused(message)
    assert done.stderr.count("error: ") == 1
    assert not (tmp_path / "run.sesame").exists()


@pytest.mark.parametrize("machine", ["pfssim", "infiniband"])
def test_shared_files_are_refused(machine, compiled, simulate, tmp_path):
    """Both in a simulated file system and in the hosts' own."""
    program = compiled("tests/programs/files/whole.c")
    command = ("-n", 4, "--machine", machine, *COMMON, *TWO)
    done = simulate(*command, "--", program, "file", cwd=tmp_path)
    done.assert_refused("using MPI-IO or files that nodes share is not simulated by several hosts")
    assert "leave out --hosts" in done.stderr


@pytest.fixture
def endless(ring: Path, tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen]]:
    """A run that does not end, on two hosts with a worker each."""
    started: list[subprocess.Popen] = []

    def start() -> subprocess.Popen:
        options = [*TWO, "-n", "4", "--machine", "infiniband", *COMMON]
        options += ["-o", str(tmp_path / "run.sesame")]
        process = subprocess.Popen(
            [*SESAME, "simulate", *options, str(ring), "forever"],
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            text=True,
            process_group=0,
        )
        started.append(process)
        wait_for_children(process.pid, 5)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


# Which process is killed: its place in the tree of children below the command. The further host is
# the first child, the simulator here the second.
KILLED = {
    "the further host's worker": ((0, 0, 0), "worker 1 (ranks 2 to 3) on host 127.0.0.2 was ended"),
    "the further host's simulator": ((0, 0), "host 127.0.0.2: the connection broke"),
    "the further host's launcher": ((0,), "host 127.0.0.2: the connection broke"),
    "this host's worker": ((1, 0), "worker 0 (ranks 0 to 1) on host "),
}


@pytest.mark.parametrize("which", KILLED)
def test_a_killed_process_is_named_and_ends_the_run(which, endless, tmp_path):
    place, message = KILLED[which]
    process = endless()
    everything = children(process.pid)
    killed = process.pid
    for index in place:
        killed = children(killed, deep=False)[index]
    os.kill(killed, signal.SIGKILL)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 2
    assert text.count("error: ") == 1
    assert message in text
    said = "host 127.0.0.2: the simulator was ended by signal 9 (Killed)"
    assert (said in text) == (which == "the further host's simulator")
    wait_until(lambda: not any(map(exists, everything)))
    assert not (tmp_path / "run.sesame").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_after_the_command_has_ended(number, endless, tmp_path):
    process = endless()
    everything = children(process.pid)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # Ctrl-C
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert not list(tmp_path.glob("*"))
    else:
        process.kill()
    wait_until(lambda: not any(map(exists, everything)))


def test_a_host_is_started_by_ssh(ring, same, tmp_path, debian_program):
    if os.geteuid() != 0:
        pytest.skip("sshd is started as root")
    sshd = debian_program("openssh-server", "/usr/sbin/sshd")
    (tmp_path / "ssh").mkdir()
    with ssh_server(sshd, tmp_path / "ssh", "127.0.0.2") as options:
        launcher = " ".join(["ssh", *options, "{host}"])
        hosts = ("--workers", "2", "--hosts", "127.0.0.2", "--launcher", launcher)
        same(hosts, ["-n", 4, "--machine", "infiniband", "--", ring])


NETWORK = "10.77.83."


@pytest.fixture(scope="module")
def namespaces() -> Iterator[tuple[str, str]]:
    """Two network namespaces, connected to each other only; .1 is the first, .2 the second."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and ip")
    names = [f"sesame-{os.getpid()}-{end}" for end in "ab"]

    def ip(*words: str) -> int:
        command = ["ip", *" ".join(words).split()]
        return subprocess.run(command, capture_output=True, check=False).returncode

    if ip("netns add", names[0]) != 0:
        pytest.skip("network namespaces cannot be made here")
    try:
        ip("netns add", names[1])
        a, b = names
        assert ip(f"-n {a} link add veth0 type veth peer name veth0 netns {b}") == 0
        for number, name in enumerate(names, 1):
            assert ip(f"-n {name} addr add {NETWORK}{number}/24 dev veth0") == 0
            assert ip(f"-n {name} link set veth0 up") == 0
            assert ip(f"-n {name} link set lo up") == 0
        yield a, b
    finally:
        for name in names:
            ip("netns del", name)


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(
    ("name", "ranks", "arguments"),
    [("cg", 8, ("--class", "S")), ("bt", 9, ("--class", "S", "--steps", "5"))],
)
def test_nas_codes_in_two_network_namespaces(name, ranks, arguments, namespaces, program, same):
    here, there = namespaces
    launcher = f"ip netns exec {there}"
    hosts = ("--workers", "2", "--hosts", f"{NETWORK}2", "--launcher", launcher)
    command = ["-n", ranks, "--machine", "infiniband", "--", program(name), *arguments]
    same(hosts, command, prefix=("ip", "netns", "exec", here))
