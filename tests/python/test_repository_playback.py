"""The play-back: where nodes are drawn, values by time bin and node, fields of any record type."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient
from tests.played_runs import TraceBuilder
from tests.python.every_kind import write_every_kind
from tests.python.made_runs import machine_file, write_run
from tests.python.new_repository import opened_copy, prepare_served
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, Kind
from sesame.errors import InputError
from sesame.machines.values import machine_values
from sesame.repository.app import make_app
from sesame.repository.local import add_found
from sesame.repository.playback.arrows import MOST_ARROWS, MOST_MESSAGES, Arrows
from sesame.repository.playback.columns import columns_of
from sesame.repository.playback.frames import ABSENT, Clock, FieldOfFrames, Spans
from sesame.repository.playback.layout import MOST_DRAWN, draw
from sesame.repository.playback.prepare import can_play, field_of_column, prepare
from sesame.repository.playback.units import units_of
from sesame.repository.store import LibraryItem, schema

MESH = 'kind = "mesh"\ndims = [2, 4]'


def drawn(topology: str, used: range | list[int]):
    return draw(machine_values(machine_file(topology)), list(used))


def read(path: Path, index: dict, key: str) -> np.ndarray:
    """A prepared field in its unit, by bin and unit; NaN where there is none."""
    number = next(i for i, one in enumerate(index["fields"]) if one["key"] == key)
    values = np.frombuffer((path / f"field-{number}.bin").read_bytes(), "<u2").astype(float)
    values[values == ABSENT] = np.nan
    most = index["fields"][number]["most"]
    return values.reshape(index["bins"], -1) * most / (ABSENT - 1)


def prepared(data_set: DataSet, out: Path) -> dict:
    assert prepare(data_set.path, out)
    return json.loads((out / "index.json").read_text())


def test_a_mesh_is_drawn_with_its_last_dimension_across():
    diagram = drawn(MESH, range(8))
    assert [diagram.at[node] for node in (0, 1, 4, 7)] == [(0, 0), (1, 0), (0, 1), (3, 1)]
    assert len(diagram.lines) == 2 + 4  # rows and columns
    assert diagram.size() == (4, 2)


def test_the_planes_of_a_torus_lie_side_by_side():
    diagram = drawn('kind = "torus"\ndims = [3, 2, 4]', range(24))
    at = diagram.at
    assert len(set(at.values())) == 24
    assert at[8][0] - at[0][0] == 5  # the next plane begins one cell after the end of the first
    assert at[8][1] == at[0][1]


@pytest.mark.parametrize("topology", ["arity = [4, 3]", "arity = [2, 3, 2]"])
def test_nodes_of_a_tree_are_inside_the_box_of_their_switch_and_nowhere_else(topology):
    diagram = drawn(f'kind = "fat_tree"\n{topology}', range(12))
    size = int(topology[9])
    leaves = [box for box in diagram.boxes if box[4].startswith("switch")]
    assert len(leaves) == 12 // size
    for x, y, width, height, title in leaves:
        inside = [
            node
            for node, (left, top) in diagram.at.items()
            if x < left and left + 1 < x + width and y < top and top + 1 < y + height
        ]
        first = size * int(title.split()[1])
        assert inside == list(range(first, first + size))


def test_only_used_nodes_of_a_large_machine_are_drawn():
    diagram = drawn(
        'kind = "dragonfly"\ngroups = 100\nrouters = 20\nnodes_per_router = 8', [3, 9999]
    )
    assert set(diagram.at) == {3, 9999}
    far = drawn(f'kind = "mesh"\ndims = [{MOST_DRAWN}, {MOST_DRAWN}]', [0, MOST_DRAWN**2 - 1])
    assert set(far.at) == {0, MOST_DRAWN**2 - 1}
    assert far.size()[0] <= 2


def test_spans_cover_bins_by_their_shares():
    rng = np.random.default_rng(1)
    clock = Clock(50, 0.1)
    row, begin = rng.integers(0, 3, 200), rng.uniform(0, 5, 200)
    end = np.minimum(begin + rng.exponential(0.3, 200), 5)
    spans = Spans(3, clock)
    for half in (slice(0, 90), slice(90, 200)):
        spans.add(row[half], begin[half], end[half])
    edges = np.arange(51) * 0.1
    for at in range(3):
        chosen = row == at
        low = np.maximum(begin[chosen, None], edges[:-1])
        high = np.minimum(end[chosen, None], edges[1:])
        cover = np.maximum(high - low, 0).sum(axis=0) / 0.1
        assert spans.cells()[at] == pytest.approx(cover, abs=1e-9)


def test_encoded_values_are_within_a_65534th_of_the_largest():
    values = np.array([[0.0, 5.0, np.nan, 4.321]])
    numbers = np.frombuffer(FieldOfFrames("f", "f", "B", values).encoded(), "<u2").astype(float)
    assert numbers[2] == ABSENT
    assert numbers[[0, 1, 3]] * 5 / (ABSENT - 1) == pytest.approx([0, 5, 4.321], abs=5 / 65534)


def test_shares_and_amounts_of_a_simulated_run_are_those_of_its_records(tmp_path):
    run = write_run(tmp_path / "run.sesame", 8, MESH, steps=10, step_s=0.1)
    index = prepared(run, tmp_path / "out")
    assert index["diagram"]["about"] == "mesh of 2 × 4 nodes"
    mean = {
        key: read(tmp_path / "out", index, key).mean()
        for key in ("compute", "point_to_point", "wait")
    }
    assert mean == pytest.approx(
        {"compute": 1 / 2, "point_to_point": 1 / 8, "wait": 3 / 8}, abs=1e-4
    )
    messages = 8 * 5 + 5
    sent = read(tmp_path / "out", index, "sent") * index["bin_s"]
    assert sent.sum() == pytest.approx(1000 * messages, rel=1e-3)
    # Each message is in flight for a quarter of a step at both of its ends.
    flight = read(tmp_path / "out", index, "flight") * index["bin_s"]
    assert flight.sum() == pytest.approx(2 * messages * 0.025, rel=1e-3)
    # Half-way into the first step only rank 0 sends.
    at = int(0.055 / index["bin_s"])
    assert np.flatnonzero(read(tmp_path / "out", index, "flight")[at]).tolist() == [0, 1]
    activity = read(tmp_path / "out", index, "activity")[at]
    assert index["fields"][0]["classes"][round(activity[3])][0] == "point-to-point"


def test_arrows_are_the_messages_of_their_bins(tmp_path):
    run = write_run(tmp_path / "run.sesame", 8, MESH, steps=2, step_s=0.1)
    index = prepared(run, tmp_path / "out")
    bins, number = index["bins"], index["arrows"]["number"]
    content = (tmp_path / "out" / "arrows.bin").read_bytes()
    first = np.frombuffer(content, "<u4", bins + 1)
    pairs = np.frombuffer(content, "<u2", 2 * number, len(content) - 4 * number)
    at = int(0.051 / index["bin_s"])
    assert (first[at + 1] - first[at], first[-1]) == (1, number)
    assert (pairs[first[at]], pairs[number + first[at]]) == (0, 1)
    at = int(0.151 / index["bin_s"])
    assert pairs[first[at] : first[at + 1]].tolist() == list(range(8))


def test_bins_with_many_pairs_or_messages_have_no_arrows():
    clock, count = Clock(100, 1.0), MOST_ARROWS + 1
    arrows = Arrows(1000, clock)
    one = np.arange(count)
    for half in (one[: count // 2], one[count // 2 :]):
        arrows.add(half, half + 1, np.full(len(half), 5.5), np.full(len(half), 5.6), half)
    long = np.array([1, 2]), np.array([2, 2]), np.array([2.0, 2.0]), np.array([11.5, 8.0])
    arrows.add(*long, one[:2])
    assert arrows.full_bins == 1
    assert arrows.number == 9  # bins 2 to 11 but 5; a message to oneself has none
    many = np.ones(MOST_MESSAGES + 1, int)
    arrows.add(many, many + 1, many * 2.0, many * 3.5, many)
    assert (arrows.full_bins, arrows.number) == (3, 7)


@pytest.mark.parametrize(
    ("placement", "nodes"), [("block", [0, 0, 1, 1]), ("cyclic", [0, 1, 2, 3]), ("file:x", None)]
)
def test_ranks_are_on_the_nodes_of_their_placement(tmp_path, placement, nodes):
    run = write_run(tmp_path / "run.sesame", 4, MESH, cores=2)
    info = json.loads((run.path / "info.json").read_text())
    info["scenario"]["placement"] = placement
    (run.path / "info.json").write_text(json.dumps(info))
    units = units_of(DataSet(run.path))
    if nodes is None:
        assert (units.word, units.count) == ("rank", 4)
        assert "does not say on which nodes" in units.diagram.about
    else:
        names = [units.names[unit] for unit in units.of_rank]
        assert names == [f"node {node}" for node in nodes]


def test_io_nodes_are_drawn_where_they_are_attached(tmp_path):
    storage = '[storage]\nmount = ["/pfs"]\nionodes = 2\nattached = [3, 5]'
    run = write_run(tmp_path / "run.sesame", 8, f"{MESH}\n{storage}")
    with DataSetWriter(tmp_path / "stored.sesame") as writer:
        for name in run.tables:
            writer.write_table(name, run.table(name))
        row = {"system": "storage", "node": -1, "begin_s": 0.25, "length_s": 0.5, "busy_s": 0.125}
        writer.write_records("storage_activity", {k: [v] for k, v in {**row, "ionode": 1}.items()})
        writer.finish(run.info)
    index = prepared(DataSet(tmp_path / "stored.sesame"), tmp_path / "out")
    assert index["units"][8:] == ["I/O node 0", "I/O node 1"]
    ends = [line[2:] for line in index["diagram"]["lines"][-2:]]
    assert ends == [[3.5, 1], [1.5, 2]]  # below nodes 3 and 5
    busy = read(tmp_path / "out", index, "device")
    assert np.isnan(busy[:, :8]).all() and not busy[:, 8].any()
    assert (busy[:, 9].sum() * index["bin_s"], busy[:, 9].max()) == pytest.approx(
        (0.125, 0.25), rel=1e-3
    )
    assert [light["field"] for light in index["lights"] if light["title"] == "I/O"] == ["device"]


def write_kernels(path: Path) -> DataSet:
    """Two nodes: `a` computes in the first second, `b` in the second."""
    times = {
        "begin_ns": [0, 10**9] * 2,
        "end_ns": [10**9, 2 * 10**9] * 2,
        "node": ["a", "a", "b", "b"],
    }
    zero = [0] * 4
    idle = {
        "nice_ns": zero,
        "iowait_ns": zero,
        "irq_ns": zero,
        "softirq_ns": zero,
        "steal_ns": zero,
    }
    with DataSetWriter(path) as writer:
        writer.write_records(
            "cpu_time",
            {
                **times,
                **idle,
                "cpu": zero,
                "user_ns": [600_000_000, 0, 0, 600_000_000],
                "system_ns": [200_000_000, 0, 0, 200_000_000],
                "idle_ns": [200_000_000, 10**9, 10**9, 200_000_000],
            },
        )
        writer.write_records(
            "kernel_summary",
            {
                **times,
                **dict.fromkeys(["at_least_bytes", "below_bytes", "bytes", "timed"], zero),
                **dict.fromkeys(["duration_ns", "max_duration_ns", "active_ns"], zero),
                "detail": [1] * 4,
                "subsystem": ["vm", "vm", "vm", "block"],
                "point": ["fault"] * 4,
                "class": ["minor"] * 4,
                "count": [100, 300, 0, 50],
            },
        )
        phase = {"begin_ns": [0], "end_ns": [10**9], "node": ["b"], "name": ["sort"], "pid": [1]}
        writer.write_records("kernel_phase", phase)
        writer.finish(some_info("measured"))
    return DataSet(path)


def test_kernels_show_processors_page_faults_disks_and_phases(tmp_path):
    index = prepared(write_kernels(tmp_path / "m.sesame"), tmp_path / "out")
    assert (index["units"], index["memory"], index["phase"]) == (["a", "b"], "kernel_vm", "phase")
    middle = index["bins"] // 4
    for key, first, second in (
        ("cpu_user", [0.6, 0.0], [0.0, 0.6]),
        ("cpu_system", [0.2, 0.0], [0.0, 0.2]),
        ("kernel_vm", [100, 0], [300, 0]),
        ("kernel_block", [0, 0], [0, 50]),
    ):
        values = read(tmp_path / "out", index, key)
        assert values[middle] == pytest.approx(first, abs=0.01)
        assert values[3 * middle] == pytest.approx(second, abs=0.01)
    phase = read(tmp_path / "out", index, "phase")
    assert np.isnan(phase[middle, 0]) and phase[middle, 1] == 0
    assert np.isnan(phase[3 * middle]).all()


def test_a_traced_run_shows_sends_as_messages(tmp_path):
    built = TraceBuilder(2)
    built.call(0, "MPI_Send", peer=1, bytes=500, gap=2000, duration=8000)
    built.call(1, "MPI_Recv", peer=0, bytes=500, gap=0, duration=10_000)
    index = prepared(DataSet(built.write(tmp_path / "t.sesame")), tmp_path / "out")
    assert (index["units"], index["word"]) == (["rank 0", "rank 1"], "rank")
    assert index["arrows"]["number"] == 0.8 * index["bins"]
    compute = read(tmp_path / "out", index, "compute")
    assert compute.mean(axis=0) == pytest.approx([0.2, 0.0], abs=1e-3)
    sent = read(tmp_path / "out", index, "sent") * index["bin_s"]
    assert sent.sum(axis=0) == pytest.approx([500, 0])


def test_processes_of_several_nodes_are_drawn_by_node(tmp_path):
    built = TraceBuilder(3)
    for rank in range(3):
        built.call(rank, "MPI_Barrier", gap=1000 * (rank + 1), duration=1000)
    path = built.write(
        tmp_path / "t.sesame",
        process=[
            {"rank": rank, "mpi_rank": rank, "end_ns": 4000, "host": host}
            for rank, host in enumerate(["n1", "n2", "n1"])
        ],
    )
    index = prepared(DataSet(path), tmp_path / "out")
    assert index["units"] == ["n1", "n2"]
    collective = read(tmp_path / "out", index, "collective")
    assert collective.mean(axis=0) == pytest.approx([2 / 8, 1 / 4], abs=1e-3)


def test_any_field_of_records_can_colour_the_nodes(tmp_path):
    run = write_run(tmp_path / "run.sesame", 8, MESH)
    keys = columns_of(run)
    assert {"message.bytes:mean", "message.bytes:rate", "call.records:rate"} < set(keys)
    mean = field_of_column(run, "message.bytes:mean").values
    assert set(np.unique(mean[~np.isnan(mean)])) == {1000.0}
    records = field_of_column(run, "call.records:rate")
    clock = Clock.of(1.0, 8)
    assert records.values.sum() * clock.bin_s == pytest.approx(run.record_types["call"]["rows"])
    with pytest.raises(InputError, match="no field"):
        field_of_column(run, "call.nothing:mean")


def test_data_sets_of_every_kind_are_played_or_not(fake_bin, tmp_path):
    for name, path in write_every_kind(tmp_path, fake_bin).items():
        data_set = DataSet(path)
        done = prepare(path, tmp_path / "out" / name)
        assert done == (tmp_path / "out" / name / "index.json").is_file()
        assert can_play(data_set) or not done
        if "," not in name:
            with_places = (Kind.SIMULATED, Kind.TRACED, Kind.IMPORTED, Kind.REPLAYED, Kind.MEASURED)
            assert done == (data_set.kind in with_places), name


@pytest.mark.parametrize(
    "topology",
    [
        'kind = "mesh"\ndims = [0, -4]',
        'kind = "mesh"\ndims = [2, 2]',  # too small for the ranks
        f'kind = "torus"\ndims = {[2] * 99}',
        f'kind = "fat_tree"\narity = {[1] * 5000}',
        'kind = "dragonfly"\ngroups = "x"',
        f'{MESH}\n[storage]\nmount = ["/"]\nionodes = 999999999999',
        "kind = 7",
        "not = [toml",
    ],
)
def test_a_machine_that_cannot_be_drawn_is_a_list_of_its_ranks(tmp_path, topology):
    run = write_run(tmp_path / "run.sesame", 8, topology)
    index = prepared(run, tmp_path / "out")
    assert len(index["units"]) == 8


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"rank": 2**32 - 1, "end_ns": 5}, "expected at most 16,777,216"),
        ({"rank": 0, "end_ns": 2**63 - 1}, None),
        ({"rank": 0, "begin_ns": -(2**62), "end_ns": -5}, None),
    ],
)
def test_hostile_processes_cost_no_memory(tmp_path, rows, message):
    path = TraceBuilder(1).write(tmp_path / "t.sesame", process=[rows])
    if message is None:
        assert prepare(path, tmp_path / "out")
    else:
        with pytest.raises(InputError, match=message):
            prepare(path, tmp_path / "out")
    assert message is None or not (tmp_path / "out").exists()


def test_tables_of_other_types_than_described_are_refused(tmp_path):
    run = write_run(tmp_path / "run.sesame", 8, MESH)
    table = run.table("call")
    column = table.column_names.index("begin_ps")
    wrong = table.set_column(column, "begin_ps", [["x"] * table.num_rows])
    pq.write_table(wrong, run.path / "call.parquet")
    with pytest.raises(InputError, match="these records cannot be played"):
        prepare(run.path, tmp_path / "out")


@pytest.fixture(scope="module")
def one_prepared(tmp_path_factory) -> Path:
    """The directories `served`, with one data set, and `repository`, which has it."""
    directory = tmp_path_factory.mktemp("prepared")
    write_run(directory / "served" / "run.sesame", 8, MESH, title="A <b> run")
    prepare_served(directory)
    return directory


@pytest.fixture
def repository(one_prepared, tmp_path):
    with opened_copy(one_prepared, tmp_path) as opened:
        yield opened


@pytest.fixture
def client(repository):
    """Signed in as the user of the directory, which has one run."""
    return TestClient(make_app(repository, recognisers=[lambda _: repository.local_reader()]))


def data_sets(repository) -> list[LibraryItem]:
    """The newest first; models and workloads that they link to are left out."""
    with repository.connection() as connection:
        return repository.things.find(connection, schema.thing.c.library == "data")


def address_of(repository) -> str:
    (only,) = data_sets(repository)
    return f"{only.address}/play"


def test_the_page_prepares_what_is_not_there_and_escapes_titles(client, repository):
    address = address_of(repository)
    page = client.get(address)
    assert page.status_code == 200
    assert "A &lt;b&gt; run" in page.text and "A <b> run" not in page.text
    with repository.connection() as connection:
        version = repository.things.version(connection, address.split("/")[2])
    assert (repository.derived(version) / "playback" / "index.json").is_file()
    assert client.get(f"{address}/1/index.json").json()["units"][0] == "node 0"
    home = client.get(address.removesuffix("/play")).text
    assert f'<a href="{address}">Play back</a>' in home


@pytest.mark.parametrize("name", ["info.json", "field-99.bin", "..%2Finfo.json", "x.py", "%00"])
def test_only_files_of_the_play_back_are_given(client, repository, name):
    assert client.get(f"{address_of(repository)}/1/{name}").status_code == 404


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    "path",
    [
        "",
        "?v=2",
        "?v=-1x",
        "?with=00000000",
        "/2/index.json",
        f"/{1 << 70}/index.json",
        "/1/column",
    ],
)
def test_what_is_not_there_or_private_is_a_404(client, repository, path):
    anyone = TestClient(make_app(repository))
    address = address_of(repository) + path
    assert anyone.get(address).status_code == 404
    assert client.get(address).status_code == (200 if path in ("", "?v=-1x") else 404)


def test_a_data_set_without_places_has_no_play_back(client, repository, tmp_path):
    with DataSetWriter(tmp_path / "served" / "other.sesame") as writer:
        writer.finish(some_info("characterised"))
    add_found(repository, tmp_path / "served", print)
    newest, oldest = data_sets(repository)
    answer = client.get(f"{newest.address}/play")
    assert (answer.status_code, "no records of what was done" in answer.text) == (404, True)
    assert newest.id not in client.get(f"{oldest.address}/play").text


def test_a_field_of_records_comes_with_its_description(client, repository):
    address = f"{address_of(repository)}/1"
    answer = client.get(f"{address}/column", params={"key": "message.bytes:mean"})
    assert json.loads(answer.headers["Sesame-Field"])["most"] == 1000
    assert len(answer.content) == 2 * 8 * client.get(f"{address}/index.json").json()["bins"]
    wrong = client.get(f"{address}/column", params={"key": "../x"})
    assert (wrong.status_code, "no field" in wrong.text) == (404, True)
