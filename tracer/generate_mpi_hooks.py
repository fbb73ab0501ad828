"""Makes the tracer's MPI hooks from core/mpi/functions.table and tracer/mpi_shapes.table.

usage: generate_mpi_hooks.py FUNCTIONS.TABLE SHAPES.TABLE OUTPUT_DIRECTORY

Writes mpi_calls.def, the names of recorded calls; mpi_symbols.def, the symbols that the tracer
defines; mpi_hooks_made.inc, the hooks whose shape follows from the kinds of their arguments; and
mpi_counts_made.inc, the hooks that count calls. Hooks are compiled once for each binary interface,
with its types. The points at which calls are counted are in mpi_points.h, and in mpi_points.json
for readers of counter files.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "core" / "mpi"))

from mpi_functions import KINDS, Function, declare, read_functions

# What this rank gives to a collective; `c` is what is known of the communicator.
GATHERED = "(sendbuf == IN_PLACE ? bytes(recvcount, recvtype) : bytes(sendcount, sendtype))"
GATHERED_V = (
    "(sendbuf == IN_PLACE ? bytes(recvcounts[c->rank], recvtype) : bytes(sendcount, sendtype))"
)
GIVEN = {
    "Allgather": GATHERED,
    "Allgatherv": GATHERED_V,
    "Allreduce": "bytes(count, datatype)",
    "Alltoall": f"sesame_peers(c) * {GATHERED}",
    "Alltoallv": "(sendbuf == IN_PLACE ? total(recvcounts, sesame_peers(c)) * size_of(recvtype)"
    " : total(sendcounts, sesame_peers(c)) * size_of(sendtype))",
    "Alltoallw": "(sendbuf == IN_PLACE ? total_of_types(recvcounts, recvtypes, sesame_peers(c))"
    " : total_of_types(sendcounts, sendtypes, sesame_peers(c)))",
    "Barrier": "0",
    "Bcast": "is_root(c, root) ? bytes(count, datatype) : 0",
    "Exscan": "bytes(count, datatype)",
    "Gather": f"root < 0 ? 0 : {GATHERED}",
    "Gatherv": f"root < 0 ? 0 : {GATHERED_V}",
    "Neighbor_allgather": "bytes(sendcount, sendtype)",
    "Neighbor_allgatherv": "bytes(sendcount, sendtype)",
    "Neighbor_alltoall": "neighbours(c, comm) * bytes(sendcount, sendtype)",
    "Neighbor_alltoallv": "total(sendcounts, neighbours(c, comm)) * size_of(sendtype)",
    "Neighbor_alltoallw": "total_of_types(sendcounts, sendtypes, neighbours(c, comm))",
    "Reduce": "root < 0 ? 0 : bytes(count, datatype)",
    "Reduce_scatter": "total(recvcounts, c->size) * size_of(datatype)",
    "Reduce_scatter_block": "bytes(recvcount, datatype) * (uint64_t)c->size",
    "Scan": "bytes(count, datatype)",
    "Scatter": "is_root(c, root) ? bytes(sendcount, sendtype) * sesame_peers(c) : 0",
    "Scatterv": "is_root(c, root) ? total(sendcounts, sesame_peers(c)) * size_of(sendtype) : 0",
}

# Data moved by one-sided calls.
MOVED = {
    "Compare_and_swap": "size_of(datatype)",
    "Fetch_and_op": "size_of(datatype)",
    "Get_accumulate": "bytes(result_count, result_datatype)",
    "Rget_accumulate": "bytes(result_count, result_datatype)",
}

# After these calls MPI may use the communicator's handle again.
FREEING = ("Comm_disconnect", "Comm_free")

# Where the program ignores the status, the hook passes one of its own.
OWN_STATUS = """\
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
"""

# The points at which calls are counted. Each call belongs to one of them.
POINTS = {
    "message": "a send or receive, blocking or started",
    "wait": "a wait or test for requests, a probe for messages",
    "collective": "a collective call that moves data, or a barrier",
    "one-sided": "a call on a window: put, get, lock, fence",
    "file": "a call on a file",
    "other": "any other call: communicators, ports, begin and end of MPI",
}
POINT_OF_SHAPE = {
    "send": "message",
    "receive": "message",
    "exchange": "message",
    "start": "message",
    "start_exchange": "message",
    "started": "message",
    "wait": "wait",
    "probe": "wait",
    "window": "one-sided",
    "remote": "one-sided",
    "collective": "collective",
    "collective_start": "collective",
}

# Calls on files whose second argument is a size.
SIZED = ("File_preallocate", "File_set_size")

# Calls that set a file pointer: to a position that depends on their third argument.
SEEKING = ("File_seek", "File_seek_shared")


@dataclass
class CallShape:
    name: str
    by_hand: bool
    reason: str  # of a function that is not recorded


def read_shapes(path: str, functions: list[Function]) -> dict[str, CallShape]:
    """The shape of every function by name; exits if names differ from the table of functions."""
    known = {function.name for function in functions}
    shapes: dict[str, CallShape] = {}
    shape = None
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        match = re.fullmatch(r"== ([\w ]+?)(, by hand)?(?:: (.+))?", line)
        if match:
            shape = CallShape(match[1], bool(match[2]), match[3] or "")
        elif line.strip() and not line.startswith("#"):
            for name in line.split():
                if shape is None or name not in known or name in shapes:
                    sys.exit(f"{path}:{number}: {name}: expected a function of the table, once")
                shapes[name] = shape
    missing = sorted(known - set(shapes))
    if missing:
        sys.exit(f"{path}: expected every function of MPI, these are missing: {' '.join(missing)}")
    return shapes


# --- Hooks -------------------------------------------------------------------------------------


class Hook:
    """The hook of one symbol: its C function."""

    def __init__(self, function: Function, shape: str, symbol: str, large: bool) -> None:
        self.function = function
        self.shape = shape
        self.symbol = symbol
        self.large = large
        self.call = f"SESAME_CALL_{function.symbol}"

    def declarations(self) -> str:
        kinds = ((KINDS[p.kind], p.name) for p in self.function.parameters)
        parts = [declare(kind.large if self.large else kind.c, name) for kind, name in kinds]
        return ", ".join(parts) or "void"

    def find(self, *kinds: str) -> list[str]:
        return [p.name for p in self.function.parameters if p.kind in kinds]

    def one(self, *kinds: str) -> str:
        return self.find(*kinds)[0]

    def has(self, name: str) -> bool:
        return self.function.parameter(name) is not None

    def arguments(self, **replaced: str) -> str:
        names = (p.name for p in self.function.parameters)
        return ", ".join(replaced.get(name, name) for name in names)

    def run(self, how: str = "", **replaced: str) -> str:
        """The statement that calls the real function."""
        hidden = "MPI_FILE" if self.function.name.startswith("File_") else "MPI"
        return (
            f"  SESAME_{hidden}_CALL{how}({self.symbol}, {self.call},"
            f" ({self.arguments(**replaced)}));\n"
        )

    def put(self, shape: str, call: str | None = None, **fields: str) -> str:
        text = "".join(f",\n             .{name} = {value}" for name, value in fields.items())
        return f"  SESAME_PUT({shape}, {call or self.call}{text});\n"

    def text(self) -> str:
        body = getattr(self, self.shape)()
        return (
            f"static int hook_{self.symbol}({self.declarations()}) {{\n{body}"
            f"  return leave(before, result);\n}}\n"
        )

    # One method for each shape.

    def send(self) -> str:
        return self.run() + self.put(
            "send",
            comm="comm_of(comm)->number",
            peer="peer_of(dest)",
            tag="tag_of(tag)",
            bytes=self.amount(),
        )

    def receive(self) -> str:
        text = OWN_STATUS
        if self.find("message_inout"):
            text += "  const Matched matched = matched_of(message);\n"
            comm, asked = "matched.comm", "0"
        else:
            comm, asked = "comm_of(comm)->number", "asked_of(source, tag)"
        text += self.run("_RECEIVE", status="seen")
        return text + self.put(
            "receive",
            comm=comm,
            peer="peer_of(seen->MPI_SOURCE)",
            tag="tag_of(seen->MPI_TAG)",
            bytes=self.amount(),
            asked=asked,
        )

    def exchange(self) -> str:
        counts, types = self.find("count"), self.find("datatype")
        text = OWN_STATUS
        text += self.run("_RECEIVE", status="seen")
        text += "  const int32_t number = comm_of(comm)->number;\n"
        text += self.put(
            "send",
            comm="number",
            peer="peer_of(dest)",
            tag="tag_of(sendtag)",
            bytes=f"bytes({counts[0]}, {types[0]})",
        )
        return text + self.put(
            "receive",
            comm="number",
            peer="peer_of(seen->MPI_SOURCE)",
            tag="tag_of(seen->MPI_TAG)",
            bytes=f"bytes({counts[-1]}, {types[-1]})",
            asked="asked_of(source, recvtag) | ASKED_EXCHANGE",
        )

    def amount(self) -> str:
        """The bytes of a call with one count, or those that it sends."""
        counts, types = self.find("count", "large_count"), self.find("datatype")
        amount = f"bytes({counts[0]}, {types[0]})"
        return f"(uint64_t)partitions * {amount}" if self.has("partitions") else amount

    def start(self) -> str:
        text, peer, tag, comm = "", "peer_of(dest)", "tag_of(tag)", "comm_of(comm)->number"
        if self.find("message_inout"):
            text = "  const Matched matched = matched_of(message);\n"
            peer, tag, comm = "matched.peer", "matched.tag", "matched.comm"
        elif self.has("source"):
            peer = "peer_of(source)"
        return (
            text
            + self.run()
            + self.put(
                "start",
                comm=comm,
                peer=peer,
                tag=tag,
                bytes=self.amount(),
                request="request_id(*request)",
            )
        )

    def start_exchange(self) -> str:
        """A send and a receive with one request."""
        counts, types = self.find("count"), self.find("datatype")
        text = self.run() + "  const int32_t number = comm_of(comm)->number;\n"
        parts = (
            ("SESAME_CALL_MPI_Isend", "dest", "sendtag", counts[0], types[0]),
            ("SESAME_CALL_MPI_Irecv", "source", "recvtag", counts[-1], types[-1]),
        )
        for call, peer, tag, count, type_ in parts:
            text += self.put(
                "start",
                call,
                comm="number",
                peer=f"peer_of({peer})",
                tag=f"tag_of({tag})",
                bytes=f"bytes({count}, {type_})",
                request="request_id(*request)",
            )
        return text + "  await_two(*request, source, recvtag);\n"

    def given(self) -> str:
        name = self.function.name.removesuffix("_init")
        if name not in GIVEN:
            name = name[1:].capitalize()
        return GIVEN[name]

    def collective(self, shape: str = "collective", **more: str) -> str:
        peer = "peer_of(root)" if self.has("root") else "-1"
        return (
            self.run()
            + "  const SesameComm* c = comm_of(comm);\n"
            + self.put(shape, comm="c->number", peer=peer, bytes=self.given(), **more)
        )

    def collective_start(self) -> str:
        return self.collective("collective_start", request="request_id(*request)")

    def communicator(self) -> str:
        parents = self.find("comm")
        parent = f"comm_of({parents[0]})->number" if parents else "-1"
        made = self.one("comm_out")
        return self.run() + f"  made(&span, {self.call}, {parent}, *{made});\n"

    def window(self) -> str:
        return (
            self.run()
            + "  const SesameComm* c = comm_of(comm);\n"
            + "  sesame_handle_put(&sesame_windows, KEY(*win), (void*)c);\n"
            + self.put("remote", comm="c->number", peer="-1", bytes="0", request="0")
        )

    def moved(self) -> str:
        if self.function.name in MOVED:
            return MOVED[self.function.name]
        return self.amount() if self.find("count") else "0"

    def remote(self) -> str:
        ranks = self.find("rank")
        request = "request_id(*request)" if self.find("request_out") else "0"
        return self.run() + self.put(
            "remote",
            comm="comm_of_window(win)",
            peer=f"peer_of({ranks[0]})" if ranks else "-1",
            bytes=self.moved(),
            request=request,
        )

    def mpi_data(self) -> str:
        request = "request_id(*request)" if self.find("request_out") else "0"
        fields = {"file": "file_of(fh)", "bytes": self.amount()}
        if self.has("offset"):
            fields |= {"offset": "offset"}
        shape = "mpi_data_at" if "offset" in fields else "mpi_data"
        text = self.run() + self.put(shape, **fields, request=request)
        return text + ("" if request == "0" else "  await_file(*request);\n")

    def mpi_file(self) -> str:
        value = self.one("offset") if self.function.name in SIZED else "0"
        if self.function.name in SEEKING:
            value = f"position_after_{self.function.name}(fh, offset, whence)"
        return self.run() + self.put("mpi_file", file="file_of(fh)", value=value, error="0")

    def plain(self) -> str:
        return self.run() + self.put("plain", error="0")

    def request(self) -> str:
        """A request that is no message: recorded so that its completion refers to a record."""
        comm = "comm_of(comm)->number" if self.find("comm") else "-1"
        return self.run() + self.put(
            "remote", comm=comm, peer="-1", bytes="0", request="request_id(*request)"
        )


# --- Counting ----------------------------------------------------------------------------------


def point_of(function: Function, shape: CallShape) -> str:
    if function.name.startswith("File_"):
        return "file"
    if function.name.startswith("Comm_"):
        return "other"
    return POINT_OF_SHAPE.get(shape.name, "other")


class Count(Hook):
    """The hook that counts the calls of one symbol."""

    def __init__(self, function: Function, shape: CallShape, symbol: str, large: bool) -> None:
        super().__init__(function, shape.name, symbol, large)
        self.point = "SESAME_POINT_" + point_of(function, shape).replace("-", "_")

    def size(self) -> str:
        """The bytes that the record has; of a call that sends and receives, those that it sends."""
        if self.shape == "remote":
            return self.moved()
        if self.shape.startswith("collective") and self.function.name not in FREEING:
            return self.given()
        if self.shape in ("send", "receive", "exchange", "start", "start_exchange", "mpi_data"):
            return self.amount()
        return "0"

    def text(self) -> str:
        size = self.size()
        body = ""
        if self.function.name in FREEING:
            body += "  atomic_fetch_add(&freed_comms, 1);\n"
        body += f"  SESAME_COUNT_CALL({self.symbol}, {self.point}, ({self.arguments()}));\n"
        call = f"SESAME_COUNTED_{self.function.symbol}"
        if size == "0":
            body += f"  sesame_count_end(begin, {self.point}, {call}, end, 0);\n"
        else:
            body += "  uint64_t size = 0;\n  if (result == 0) {\n"
            if re.search(r"\bc\b", size):
                body += "    const SesameComm* c = counted_comm(comm);\n"
            body += f"    size = {size};\n  }}\n"
            body += f"  sesame_count_end(begin, {self.point}, {call}, end, size);\n"
        return (
            f"static int count_{self.symbol}({self.declarations()}) {{\n{body}"
            f"  return uncounted(begin, result);\n}}\n"
        )


def write_points(counted: list[tuple[str, str]], directory: Path) -> None:
    """`counted`: the calls and their points."""
    names = list(POINTS)
    lines = ["/* The points, and the index of each call's cells. */", "#pragma once", "enum {"]
    lines += [f"  SESAME_POINT_{name.replace('-', '_')}," for name in names]
    lines += ["  SESAME_POINTS", "};", "enum {"]
    lines += [f"  SESAME_COUNTED_{call}," for call, _ in counted]
    lines += ["  SESAME_COUNTED", "};", ""]
    (directory / "mpi_points.h").write_text(NOTE + "\n".join(lines))
    described = {
        "points": [{"name": name, "meaning": meaning} for name, meaning in POINTS.items()],
        "calls": [{"name": call, "point": names.index(point)} for call, point in counted],
    }
    (directory / "mpi_points.json").write_text(json.dumps(described, indent=1) + "\n")


# --- Output ------------------------------------------------------------------------------------


def symbols_of(function: Function, shape: CallShape) -> list[tuple[str, bool]]:
    """The symbols that share a function's shape, and whether each has large counts."""
    symbols = [(function.symbol, False)]
    if function.large:
        symbols.append((function.symbol + "_c", True))
    # Open MPI 4 has persistent collectives under names of its own.
    if shape.name == "collective_start" and function.name.endswith("_init"):
        symbols.append(("MPIX_" + function.name, False))
    return symbols


NOTE = "/* Made from mpi_shapes.table by generate_mpi_hooks.py; do not edit. */\n"


def write_hooks(functions: list[Function], shapes: dict[str, CallShape], directory: Path) -> None:
    calls, symbols, hooks, counts, counted = [], [], [], [], []
    for function in functions:
        shape = shapes[function.name]
        if shape.reason:
            continue
        is_recorded = shape.name != "no record"
        if is_recorded:
            calls.append(function.symbol)
            counted.append((function.symbol, point_of(function, shape)))
        for symbol, large in symbols_of(function, shape):
            symbols.append(symbol)
            if not shape.by_hand:
                hooks.append(Hook(function, shape.name, symbol, large).text())
            if is_recorded:
                counts.append(Count(function, shape, symbol, large).text())
    for name, lines in (("calls", calls), ("symbols", symbols)):
        macro = f"SESAME_{name[:-1].upper()}"
        text = "".join(f"{macro}({line})\n" for line in lines)
        (directory / f"mpi_{name}.def").write_text(NOTE + text)
    (directory / "mpi_hooks_made.inc").write_text(NOTE + "\n" + "\n".join(hooks))
    (directory / "mpi_counts_made.inc").write_text(NOTE + "\n" + "\n".join(counts))
    write_points(counted, directory)


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    functions = read_functions(sys.argv[1])
    directory = Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    write_hooks(functions, read_shapes(sys.argv[2], functions), directory)


if __name__ == "__main__":
    main()
