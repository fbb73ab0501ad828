"""Which tables a data set of each kind has, and which columns join them.

The page of tables in the documentation is generated from this module. Tests compare it with data
sets of every kind and run the examples.
"""

from __future__ import annotations

from dataclasses import dataclass

from sesame.datasets.info import Kind


@dataclass(frozen=True)
class KindTables:
    """`always`: tables that every data set of the kind has. `sometimes`: tables that it has only if
    there was something to record."""

    always: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()
    has_own: str = ""  # describes other tables, whose names or columns vary


_LINKS = ("link", "link_activity", "link_pair")
_STORAGE = ("storage_file", "storage_ionode", "storage_cache", "storage_activity")
TABLES: dict[Kind, KindTables] = {
    Kind.SIMULATED: KindTables(
        ("rank", "call_total", "pair", "message_size"),
        ("call", "message", "io", "file", "critical_path", *_LINKS, *_STORAGE),
    ),
    Kind.SERIES: KindTables(has_own="`point`: a row for each run, a column for each varied key"),
    Kind.TRACED: KindTables(
        ("io", "mpi", "process", "file", "communicator"), ("preempted", "file_view")
    ),
    Kind.IMPORTED: KindTables(
        (),
        ("io", "mpi", "process", "file", "communicator", "file_total", "block_request"),
    ),
    Kind.REPLAYED: KindTables(("io", "mpi", "process", "file", "communicator", "replayed")),
    Kind.MEASURED: KindTables(
        (),
        (
            "kernel_summary",
            "measurement_cost",
            "cpu_time",
            "kernel_phase",
            "kernel_reading",
            "kernel_event",
            "kernel_trace",
        ),
    ),
    Kind.BENCH: KindTables(("figure", "check"), has_own="the tables of the workload"),
    Kind.CHARACTERISED: KindTables(
        ("request_size", "request_rate", "request_band", "requester", "request_finding")
    ),
    Kind.REPRODUCED: KindTables(
        has_own="`finding`, `curve`, `bar` and `arrow` with the numbers of experiment and diagram"
    ),
}


@dataclass(frozen=True)
class Join:
    """Column `column` of the table holds values of `to_column` of the other table."""

    table: str
    column: str
    to_table: str
    to_column: str
    answers: str  # what the example query shows
    query: str  # for DataSet.sql: times are in seconds

    def __str__(self) -> str:
        return f"{self.table}.{self.column} = {self.to_table}.{self.to_column}"


JOINS = (
    Join(
        "io",
        "file",
        "file",
        "index",
        "Calls, data and time by file",
        "select path, count(*) as calls, sum(bytes) as bytes, sum(duration_s) as time_s\n"
        "from io join file on io.file = file.index\n"
        "group by path order by time_s desc",
    ),
    Join(
        "io",
        "other_file",
        "file",
        "index",
        "Renamed and linked files",
        "select call, old.path as old, new.path as new\n"
        "from io join file as old on io.file = old.index\n"
        "join file as new on io.other_file = new.index",
    ),
    Join(
        "io",
        "rank",
        "process",
        "rank",
        "The three slowest calls on files of each process",
        "select process.host, io.rank, call, duration_s\n"
        "from io join process using (rank)\n"
        "qualify row_number() over (partition by io.rank order by duration_s desc) <= 3",
    ),
    Join(
        "io",
        "comm",
        "communicator",
        "index",
        "Collective calls on files, by the size of their communicator",
        "select communicator.size, call, count(*) as calls\n"
        "from io join communicator on io.comm = communicator.index\n"
        "group by communicator.size, call",
    ),
    Join(
        "mpi",
        "rank",
        "process",
        "rank",
        "Time in MPI calls by host",
        "select host, sum(duration_s) as time_s\n"
        "from mpi join process using (rank)\n"
        "group by host order by time_s desc",
    ),
    Join(
        "mpi",
        "comm",
        "communicator",
        "index",
        "Time in MPI calls by the size of the communicator",
        "select size, sum(duration_s) as time_s\n"
        "from mpi join communicator on mpi.comm = communicator.index\n"
        "group by size order by time_s desc",
    ),
    Join(
        "mpi",
        "made",
        "communicator",
        "index",
        "Communicators and the calls that made them",
        "select call, index, size\nfrom mpi join communicator on mpi.made = communicator.index",
    ),
    Join(
        "preempted",
        "rank",
        "process",
        "rank",
        "Processor time that other programs took from each process",
        "select process.host, rank, sum(lost_s) as lost_s\n"
        "from preempted join process using (rank)\n"
        "group by host, rank order by lost_s desc",
    ),
    Join(
        "file_view",
        "file",
        "file",
        "index",
        "File views with holes",
        "select path, file_view.rank, data_bytes, extent\n"
        "from file_view join file on file_view.file = file.index\n"
        "where data_bytes < extent",
    ),
    Join(
        "file_total",
        "file",
        "file",
        "index",
        "Data by file, from counters",
        "select path, layer, sum(bytes_read) as read, sum(bytes_written) as written\n"
        "from file_total join file on file_total.file = file.index\n"
        "group by path, layer",
    ),
    Join(
        "file_total",
        "rank",
        "process",
        "rank",
        "Data written by host, from counters",
        "select host, sum(bytes_written) as written\n"
        "from file_total join process using (rank)\n"
        "group by host",
    ),
    Join(
        "replayed",
        "file",
        "file",
        "index",
        "Recorded and replayed time by file",
        "select path, sum(recorded_duration_s) as recorded_s, sum(duration_s) as replayed_s\n"
        "from replayed join file on replayed.file = file.index\n"
        "group by path",
    ),
    Join(
        "call",
        "rank",
        "rank",
        "rank",
        "Time in MPI calls and in computation, rank by rank",
        "select rank, sum(call.end_s - call.begin_s) as mpi_s, any_value(compute_s) as compute_s\n"
        "from call join rank using (rank)\n"
        "group by rank order by rank",
    ),
    Join(
        "critical_path",
        "rank",
        "rank",
        "rank",
        "Time of the critical path on each rank, beside the time that the rank waited",
        "select rank, sum(critical_path.end_s - critical_path.begin_s) as path_s,\n"
        "any_value(wait_s) as wait_s\n"
        "from critical_path join rank using (rank)\n"
        "group by rank order by path_s desc",
    ),
    Join(
        "message",
        "source",
        "rank",
        "rank",
        "Time that messages were in flight, by the rank that sent them",
        "select source, count(*) as messages, sum(arrival_s - send_s) as in_flight_s\n"
        "from message join rank on message.source = rank.rank\n"
        "group by source order by source",
    ),
    Join(
        "message",
        "destination",
        "rank",
        "rank",
        "Messages that a rank received, beside the time that it waited",
        "select destination, count(*) as messages, any_value(wait_s) as wait_s\n"
        "from message join rank on message.destination = rank.rank\n"
        "group by destination order by wait_s desc",
    ),
    Join(
        "pair",
        "source",
        "rank",
        "rank",
        "Partners of each rank, beside the time that it communicated",
        "select source, count(*) as partners, any_value(communication_s) as communication_s\n"
        "from pair join rank on pair.source = rank.rank\n"
        "group by source order by source",
    ),
    Join(
        "pair",
        "destination",
        "rank",
        "rank",
        "Data that each rank received",
        "select destination, sum(bytes) as bytes\n"
        "from pair join rank on pair.destination = rank.rank\n"
        "group by destination order by destination",
    ),
)
