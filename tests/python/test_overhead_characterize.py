"""Occupancy of processors from traces of other tools and tables, and the node model made of it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from sesame.errors import InputError
from sesame.overhead.characterize import characterise, node_toml
from sesame.overhead.model import parse_model
from sesame.overhead.occupancy import (
    APPLICATION,
    CPU,
    DAEMON,
    DISK,
    INTERARRIVAL,
    NETWORK,
    OTHERS,
    PAUSE,
    Stays,
    lengths_of,
)
from sesame.overhead.occupancy_files import read_lengths, read_perf
from sesame.overhead.waits import FILE, MESSAGE, OTHER, Events, events_of

NEW = (
    "{command:>16} {thread:>7} [{cpu:03}] {time:.9f}: sched:sched_switch: {before}:{left} [120] "
    "{state} ==> {after}:{got} [120]"
)
OLD = (
    "{command:>16} {thread:>7} [{cpu:03}] d.... {time:.9f}: sched:sched_switch: prev_comm={before} "
    "prev_pid={left} prev_prio=120 prev_state={state} ==> next_comm={after} next_pid={got} "
    "next_prio=120"
)


class Tracer:
    """Writes the switches of one processor."""

    def __init__(self, form: str) -> None:
        self.form, self.now, self.lines = form, 100.0, list[str]()
        self.last = ("swapper/0", 0)

    def to(self, name: str, thread: int, state: str, after: float) -> None:
        """Switches to a thread after so many seconds; the last one leaves in `state`."""
        self.now += after
        before, left = self.last
        self.lines.append(
            self.form.format(
                command=before,
                thread=left,
                cpu=0,
                time=self.now,
                before=before,
                left=left,
                state=state,
                after=name,
                got=thread,
            )
        )
        self.last = (name, thread)


def application_and_daemon(form: str) -> tuple[list[str], np.ndarray]:
    """400 requests of an application, each fourth of which a daemon preempts for 100 us."""
    random = np.random.default_rng(8)
    lengths = random.exponential(2e-3, 400).round(6) + 1e-6
    trace = Tracer(form)
    for number, length in enumerate(lengths):
        trace.to("my app", 10, "R", 1e-3)  # the idle task had it for a millisecond
        if number % 4 == 0:
            trace.to("sesamed", 20, "R+", length / 2)
            trace.to("my app", 10, "S", 1e-4)
            length = length / 2
        trace.to("swapper/0", 0, "S", length)
    return trace.lines, lengths


@pytest.mark.parametrize("form", [NEW, OLD], ids=["new", "old"])
def test_requests_of_perf_script(tmp_path, form):
    lines, expected = application_and_daemon(form)
    path = tmp_path / "trace.txt"
    path.write_text("# a header\n" + "\n".join(lines) + "\n")
    found = read_lengths(path)
    own = found.classes[APPLICATION]
    # A request that was preempted is one request; the daemon's time is not in it.
    np.testing.assert_allclose(own[CPU], expected, atol=3e-9)
    np.testing.assert_allclose(own[PAUSE], 1e-3, atol=3e-9)
    assert found.counts == {APPLICATION: 1}
    np.testing.assert_allclose(found.classes[DAEMON][CPU], 1e-4, atol=3e-9)
    assert found.commands["my app"] == pytest.approx(expected.sum())
    assert OTHERS not in found.classes


def test_the_model_has_the_measured_means(tmp_path):
    lines, expected = application_and_daemon(NEW)
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(lines) + "\n")
    lengths = read_lengths(path)
    made = characterise(lengths, "trace")
    again = parse_model(node_toml(made, "trace.txt"))
    (application,) = again.processes
    assert application.cpu.mean == pytest.approx(expected.mean(), rel=0.02)
    assert application.pause.mean == pytest.approx(1e-3)
    assert again.daemon.source == "timer" and again.daemon.collect.mean == pytest.approx(1e-4)
    period = float(np.median(lengths.classes[DAEMON][INTERARRIVAL]))
    assert again.setting("sampling_period") == pytest.approx(period)
    assert {(part.class_, part.quantity) for part in made.parts} == {
        (APPLICATION, CPU),
        (APPLICATION, PAUSE),
        (DAEMON, CPU),
        (DAEMON, INTERARRIVAL),
    }


def test_a_table_of_numbers(tmp_path):
    random = np.random.default_rng(9)
    path = tmp_path / "lengths.csv"
    rows = ["class,quantity,seconds"]
    for quantity, mean in (("cpu", 2e-3), ("network", 2e-4)):
        rows += [f"solver,{quantity},{one:.9f}" for one in random.gamma(3, mean / 3, 500)]
    rows += [f"cron,cpu,{one:.9f}" for one in random.exponential(1e-3, 100)]
    rows += [f"cron,interarrival,{one:.9f}" for one in random.exponential(1e-1, 100)]
    path.write_text("\n".join(rows) + "\n")
    made = characterise(read_lengths(path), "lengths")
    solver, cron = made.model.processes
    assert solver.instrumented and solver.cpu.family == "gamma"
    assert solver.cpu.mean == pytest.approx(2e-3, rel=0.1)
    assert cron.interarrival is not None and cron.interarrival.family == "exponential"
    assert "no daemon ran" in node_toml(made, "lengths.csv")
    assert made.doubts[0].text.startswith("no daemon ran")


def test_a_wake_up_of_a_running_thread_is_no_wait(tmp_path):
    """It is woken while it runs, sleeps, is woken again after 490 ms and runs 10 us later."""
    woken = "{0:>16} {1:>7} [000] {2:.9f}: sched:sched_wakeup: app:10 [120] CPU:000"
    trace = Tracer(NEW)
    trace.to("app", 10, "R", 1.0)
    trace.lines.append(woken.format("other", 30, trace.now + 0.001))
    trace.to("swapper/0", 0, "S", 0.010)
    trace.lines.append(woken.format("other", 30, trace.now + 0.490))
    trace.to("app", 10, "R", 0.490010)
    trace.to("swapper/0", 0, "S", 0.010)
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(trace.lines) + "\n")
    with path.open() as file:
        stays = read_perf(file, str(path))
    np.testing.assert_allclose(stays.wait_ns, [0, 10_000], atol=3)
    np.testing.assert_allclose(lengths_of(stays).classes[APPLICATION][PAUSE], 0.490, atol=3e-9)


def stays_of_threads(threads: list[tuple[float, float, float]]) -> Stays:
    """Threads of an application that exist from a time to another, in s, and use the processor at
    this rate: ten times each."""
    begins, lengths = [], []
    for begin, end, rate in threads:
        length = (end - begin) * rate / 10
        begins.append(np.linspace(begin, end - length, 10))
        lengths.append(np.full(10, length))
    numbers = np.repeat(np.arange(len(threads)), 10)
    ns = [(np.concatenate(one) * 1e9).astype(np.int64) for one in (begins, lengths)]
    none = np.zeros(len(numbers), np.int64)
    return Stays(*ns, none, numbers, none, none > 0, ("cc1",), 4)


def test_threads_one_after_the_other_are_one_process():
    """20 compilers, each of which exists for 0.9 s of a second of its own."""
    found = lengths_of(stays_of_threads([(one, one + 0.9, 0.9) for one in range(20)]))
    assert found.counts == {APPLICATION: 1}
    made = characterise(found, "make")
    assert made.model.processes[0].count == 1
    assert any("20 threads ran, but 1 at a time" in doubt.text for doubt in made.doubts)


@pytest.mark.parametrize("count", [4, 128])
def test_idle_threads_beside_others_are_no_processes(count):
    ranks = [(0.001 * one, 10.0, 0.02) for one in range(count)]
    found = lengths_of(stays_of_threads([*ranks, *[(0.0, 10.0, 1e-4)] * 3]))
    assert found.counts == {APPLICATION: count}
    assert found.doubts == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("class,quantity,seconds\n", "no lengths in it"),
        ("class,quantity,seconds\na,cpu,-1\n", "2: expected seconds, got '-1'"),
        ("class,quantity,seconds\na,cpu,inf\n", "expected seconds, got 'inf'"),
        ("class,quantity,seconds\na,gpu,1\n", "expected a class and one of cpu"),
        ("class,quantity,seconds\na,pause,1\n", "no cpu, network or disk lengths"),
        ("nothing\n", "neither an event sched:sched_switch nor the columns class, quantity and"),
        ("class;quantity;seconds\na;cpu;1\n", "nor the columns class, quantity and seconds"),
        (
            'class,quantity,seconds\na,cpu,"1\na,cpu,1\n',
            "2: not a line of a CSV table: unexpected end",
        ),
        (
            'class,quantity,seconds\na,cpu,1\na,cpu,"1\n' + 20_000 * "a,cpu,1\n",
            "3: not a line of a CSV table: field larger than field limit",
        ),
        ("a 1 [000] 1.000000: sched:sched_switch: what\n", "1: expected the threads"),
        (
            "a 0 1.000000: sched:sched_switch: s:0 [120] R ==> a:1 [120]\n"
            "a 1 2.000000: sched:sched_switch: a:1 [120] S ==> s:0 [120]\n",
            "no line says on which processor",
        ),
    ],
)
def test_unusable_input_is_refused(tmp_path, text, message):
    path = tmp_path / "input"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_lengths(path)
    assert message in caught.value.message


@pytest.mark.parametrize("head", ["class,quantity,seconds", '"class","quantity","seconds"'])
def test_a_table_as_excel_writes_it(tmp_path, head):
    path = tmp_path / "lengths.csv"
    path.write_text(f"{head}\r\nsolver,cpu,0.5\r\n", encoding="utf-8-sig", newline="")
    assert read_lengths(path).classes["solver"][CPU].tolist() == [0.5]


def test_only_zero_lengths_are_refused(tmp_path):
    path = tmp_path / "input"
    path.write_text("class,quantity,seconds\na,cpu,0\n")
    with pytest.raises(InputError, match="nothing to characterise"):
        characterise(read_lengths(path), "x")


def test_an_unknown_application_is_refused_with_the_names(tmp_path):
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(application_and_daemon(NEW)[0]))
    with pytest.raises(InputError, match='no thread has this name, there are "my app'):
        read_lengths(path, application="other*")


def stays_and_events() -> Stays:
    """A thread that works for 1 ms, ten times. After each it waits for 2 ms: twice in a call that
    reads a file, three times until a message arrives, otherwise for something else."""
    begins = np.arange(10, dtype=np.int64) * 3_000_000
    ends = begins + 1_000_000
    ones = np.ones(10, np.int64)
    files, messages = [0, 4], [1, 5, 6]
    events = Events(
        call_thread=7 * ones[:2],
        call_begin_ns=ends[files] - 10_000,
        call_end_ns=begins[files] + 3_010_000,
        call_reason=np.full(2, FILE),
        message_thread=7 * ones[:3],
        message_ns=begins[messages] + 3_020_000,
    )
    none = np.zeros(10, np.int64)
    preempted = np.zeros(10, np.bool_)
    return Stays(begins, 1_000_000 * ones, none, 7 * ones, none, preempted, ("solver",), 2, events)


def test_waits_for_files_and_messages_are_disk_and_network_requests():
    found = lengths_of(stays_and_events())
    own = found.classes[APPLICATION]
    waits = {name: int((own[name] > 0).sum()) for name in (DISK, NETWORK, PAUSE)}
    assert waits == {DISK: 2, NETWORK: 3, PAUSE: 4}
    assert all(len(own[name]) == 9 for name in waits)
    (process,) = characterise(found, "job").model.processes
    # A cycle waits for 2 ms, whatever for: the means add up to that.
    means = (process.disk.mean, process.network.mean, process.pause.mean)
    np.testing.assert_allclose(means, np.array([2, 3, 4]) / 9 * 2e-3)


def test_measured_waits_do_not_queue_once_more():
    """They contain the queueing, so each process has a channel of its own."""
    made = characterise(lengths_of(stays_and_events()), "job")
    assert made.model.node.network_channels == made.model.processes[0].count


def test_calls_on_sockets_wait_for_messages_and_calls_on_files_for_disks():
    pa = pytest.importorskip("pyarrow")
    classes = ["ext4 /", "socket", "proc", "tmpfs /dev/shm", "tcp"]
    table = pa.table(
        {
            "subsystem": ["fs"] * 4 + ["ipc"],
            "point": ["read"] * 4 + ["receive"],
            "class": classes,
            "pid": [7, 7, 7, 7, 8],
            "time_ns": [1000, 2000, 3000, 4000, 5000],
            "duration_ns": [900] * 4 + [0],
        }
    )
    found = events_of(table)
    assert found is not None
    assert found.call_reason.tolist() == [FILE, MESSAGE, OTHER, OTHER]
    assert (found.message_thread.tolist(), found.message_ns.tolist()) == ([8], [5000])


def test_what_two_threads_of_a_daemon_do_for_a_sample_is_one_request():
    """Each 50 ms one reads for 1 ms, and another sends for 2 ms, 1 ms later."""
    reads = np.arange(40, dtype=np.int64) * 50_000_000
    begins = np.sort(np.concatenate([reads, reads + 2_000_000]))
    lengths, threads = np.tile([1_000_000, 2_000_000], 40), np.tile([7, 8], 40)
    none = np.zeros(80, np.int64)
    stays = Stays(begins, lengths, none, threads, none, none > 0, ("sesamed",), 1)
    found = lengths_of(stays).classes[DAEMON]
    np.testing.assert_allclose(found[CPU], 3e-3)
    np.testing.assert_allclose(found[INTERARRIVAL], 50e-3)
