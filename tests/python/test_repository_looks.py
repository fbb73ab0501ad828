"""Quick looks: sums by node and time against DuckDB's, addresses, downloads, who may see them."""

from __future__ import annotations

import csv
import io
import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qsl, quote

import numpy as np
import pytest
from sqlalchemy import true
from starlette.testclient import TestClient
from tests.looked_at import asked, cells_of, write_counters, write_events
from tests.python.made_runs import write_run
from tests.python.new_repository import opened_copy, prepare_served

from sesame.errors import InputError
from sesame.repository.app import make_app
from sesame.repository.local import add_found
from sesame.repository.looks.answering import answer
from sesame.repository.looks.asking import LARGEST_ANSWER, Asking, TooLong
from sesame.repository.looks.described import Nodes, to_json
from sesame.repository.looks.pairs import COLUMNS, LINES, MOST_POINTS
from sesame.repository.looks.prepare import prepare
from sesame.repository.looks.prepared import read_prepared
from sesame.repository.looks.rates import counted
from sesame.repository.looks.shown import show
from sesame.repository.looks.view import LOOKS, SHOWN, View, read_view

ALL = {"begin": None, "end": None, "nodes": None, "only": []}


def prepared(data_set, out: Path):
    out.mkdir()
    prepare(data_set.path, out)
    return read_prepared(out)


def in_process(data_set):
    return lambda request: answer(data_set, request)


def refuse(_: object):
    raise AssertionError("the records were read")


# ---- Sums ----


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("rows", "ranks"), [(1, 1), (20_000, 3000), (60_000, 16), (37, 3)])
def test_prepared_sums_are_those_of_the_records(tmp_path, rows, ranks):
    data_set = write_events(tmp_path / "run.sesame", rows, ranks)
    one = prepared(data_set, tmp_path / "out")["event"]
    grid, nodes = one.grid, one.table.nodes
    node = f"least((rank - {nodes.first}) // {nodes.each}, {nodes.count - 1})"
    at = f"least(floor((begin_ns * 1e-9 - {grid.begin!r}) / {grid.width!r}), {grid.bins - 1})"
    columns = "count(*), sum(bytes), max(bytes), sum(ratio), max(ratio)"
    query = f"select {node}, {at}, {columns} from event group by 1, 2"
    found = asked(data_set, query)
    by_field = {name: one.amounts(name) for name in ("", "bytes", "ratio")}
    assert (by_field[""].counts == cells_of(found, grid.shape, 2)).all()
    assert by_field[""].counts.sum() == rows
    assert (by_field["bytes"].sums == cells_of(found, grid.shape, 3)).all()
    most = by_field["bytes"].most
    assert (np.where(np.isfinite(most), most, 0) == cells_of(found, grid.shape, 4)).all()
    assert by_field["ratio"].sums == pytest.approx(cells_of(found, grid.shape, 5), abs=1e-9)
    most = by_field["ratio"].most
    assert (np.where(np.isfinite(most), most, 0) == cells_of(found, grid.shape, 6)).all()


def test_finer_sums_are_those_of_the_records_of_the_range(tmp_path):
    data_set = write_events(tmp_path / "run.sesame", 50_000, 8)
    one = prepared(data_set, tmp_path / "out")["event"]
    view = View(type="event", of="bytes", begin=2.5, end=2.75, only=(("what", "write"),))
    found = counted(one, view.with_(bins=100), in_process(data_set))
    at = f"floor((begin_ns * 1e-9 - 2.5) / {found.grid.width!r})"
    query = (
        f"select rank, {at}, count(*), sum(bytes) from event where begin_ns * 1e-9 >= 2.5 and "
        "begin_ns * 1e-9 < 2.75 and what = 'write' group by 1, 2"
    )
    expected = asked(data_set, query)
    assert not found.is_prepared and len(expected) > 300
    assert (found.amounts.counts == cells_of(expected, (8, 100), 2)).all()
    assert (found.amounts.sums == cells_of(expected, (8, 100), 3)).all()


def test_a_range_of_prepared_sums_reads_no_records(tmp_path):
    data_set = write_events(tmp_path / "run.sesame", 20_000, 4)
    one = prepared(data_set, tmp_path / "out")["event"]
    view = View(type="event", begin=2.0, end=6.0, nodes="1-2")
    found = counted(one, view, refuse)
    begin, end = found.edges()[[0, -1]].tolist()
    assert begin <= 2.0 < begin + found.grid.width and end - found.grid.width < 6.0 <= end
    query = (
        f"select count(*) from event where rank in (1, 2) and begin_ns * 1e-9 >= {begin!r} and "
        f"begin_ns * 1e-9 < {end!r}"
    )
    assert found.amounts.counts.sum() == asked(data_set, query)[0][0]
    rates = found.together()
    assert (rates * np.diff(found.edges())).sum() == pytest.approx(found.amounts.counts.sum())


def test_what_is_shown_of_a_field_is_as_it_says(tmp_path):
    data_set = write_events(tmp_path / "run.sesame", 5_000, 2)
    one = prepared(data_set, tmp_path / "out")["event"]

    def together(show: str):
        view = View(type="event", of="bytes", show=show, bins=64)
        return counted(one, view, refuse).together()

    width = one.grid.width * (one.grid.bins // 64)
    assert together("count") == pytest.approx(together("rate") * width)
    assert together("sum")[-1] == pytest.approx(together("count").sum())
    assert (together("mean") <= together("most")).all()
    with pytest.raises(InputError, match="choose a field"):
        counted(one, View(type="event", show="mean"), refuse)


def test_counters_are_spread_over_their_intervals(tmp_path):
    data_set = write_counters(tmp_path / "run.sesame")
    one = prepared(data_set, tmp_path / "out")["kernel_summary"]
    assert one.table.nodes.values == ("n2", "n10")
    amounts = one.amounts("count")
    seconds = amounts.sums.reshape(2, 4, -1).sum(axis=2)
    assert seconds == pytest.approx(np.array([[50, 50, 0, 0], [0, 0, 10, 30]]))
    view = View(type="kernel_summary", of="count", begin=0.5, end=2.5, bins=10)
    fine = counted(one, view.with_(only=(("subsystem", "vm"),)), in_process(data_set))
    assert fine.amounts.sums.sum(axis=1) == pytest.approx([75, 5])


@pytest.mark.parametrize("is_log", [False, True])
def test_cells_of_two_fields_are_those_of_the_records(tmp_path, is_log):
    data_set = write_events(tmp_path / "run.sesame", MOST_POINTS + 5_000, 4)
    table = prepared(data_set, tmp_path / "out")["event"].table
    ends = [2.0, 2.0**19, 1e-5, 1e-2]
    request = {
        "what": "pairs",
        "table": to_json(table),
        "x": {"field": "bytes", "low": ends[0], "high": ends[1], "is_log": is_log},
        "y": {"field": "duration", "low": ends[2], "high": ends[3], "is_log": is_log},
        "known": ends,
        "selection": ALL,
    }
    found = answer(data_set, request)
    bent = "log10" if is_log else ""

    def at(value: str, low: float, high: float, count: int) -> str:
        low, high = (float(np.log10(one)) if is_log else one for one in (low, high))
        factor = count / (high - low)
        return f"least(floor(({bent}({value}) - {low!r}) * {factor!r}), {count - 1})"

    duration = "(end_ns - begin_ns) * 1e-9"
    query = (
        f"select {at(duration, *ends[2:], LINES)}, {at('bytes::double', *ends[:2], COLUMNS)}, "
        f"count(*) from event where bytes between {ends[0]} and {ends[1]} and {duration} between "
        f"{ends[2]!r} and {ends[3]!r} group by 1, 2"
    )
    expected = cells_of(asked(data_set, query), (LINES, COLUMNS), 2)
    assert found["count"][0] == expected.sum() > MOST_POINTS
    # A logarithm at the edge of a cell may be rounded to either side.
    assert np.abs(found["cells"] - expected).sum() <= (20 if is_log else 0)


def test_few_records_are_points_and_elements_of_an_array_too(tmp_path):
    data_set = write_events(tmp_path / "run.sesame", 300, 4)
    one = prepared(data_set, tmp_path / "out")["event"]
    shown = show(
        one, None, View(look="pair", type="event", x="rank", y="ratio"), in_process(data_set)
    )
    rows = sorted((x, y) for x, y, _ in shown.rows())
    assert rows == sorted(map(tuple, asked(data_set, "select rank, ratio from event")))
    view = View(look="record", type="event", y="times", row=7)
    (expected,) = asked(data_set, "select times from event limit 1 offset 7")
    assert [y for _, y in show(one, None, view, in_process(data_set)).rows()] == expected[0]
    with pytest.raises(InputError, match="no record 300"):
        show(one, None, view.with_(row=300), in_process(data_set))


def test_nodes_are_named_by_numbers_ranges_and_names():
    ranks = Nodes(4, "rank", first=10, each=2)
    assert [ranks.name(0), ranks.key(3)] == ["ranks 10 to 11", "16"]
    assert ranks.chosen("11-14,16") == [0, 1, 2, 3]
    named = Nodes(3, "node", values=("n1", "n-2", "a,b"))
    assert named.chosen("n-2,0") == [1, 0]
    assert named.chosen(named.key(2)) == [2]
    for wrong in ("18", "9", "12-30", "x", "-", "1-", "9" * 30):
        with pytest.raises(InputError, match="there is no node"):
            ranks.chosen(wrong)


# ---- Addresses ----


def some_view(chance: random.Random) -> View:
    number = chance.uniform(0, 100)
    return View(
        look=chance.choice(list(LOOKS)),
        type=chance.choice(["", "event", "a b", "ß&=%"]),
        show=chance.choice(list(SHOWN)),
        node=chance.choice(["", "n 1", "7"]),
        only=tuple({("what", chance.choice(["", "a:b", "é&"])), ("rank", "3")}),
        begin=chance.choice([None, number]),
        end=chance.choice([None, number + 1e-7]),
        xmin=chance.choice([None, -1e300, 0.1 + 0.2]),
        yscale=chance.choice(["linear", "log"]),
        bins=chance.choice([None, 8, 2000]),
        first=chance.choice([0, 256]),
    )


def test_a_view_is_its_address():
    chance = random.Random(1)
    for _ in range(300):
        view = some_view(chance)
        assert read_view(parse_qsl(view.query(), keep_blank_values=True)) == view


@pytest.mark.few_cases(12)
@pytest.mark.parametrize(
    "query",
    [
        "look=no",
        "show=no",
        "from=x",
        "from=nan",
        "from=inf",
        "from=2&to=1",
        "xmin=1&xmax=1",
        "bins=7",
        "bins=1e9",
        "bins=100000000",
        "first=-1",
        "row=1e3",
        "row=" + "9" * 100,
        "only=what",
        "only=:x",
        "type=%00",
        "nodes=" + "1," * 150,
        "&".join(f"only=what:{i}" for i in range(9)),
        "&".join(f"a{i}=1" for i in range(50)),
        "nodes=99",
        "nodes=0-99999999999999999999",
        "only=no:1",
        "only=times:1",
        "of=what",
        "of=no",
        "show=mean",
        "look=pair&x=no",
        "look=pair&y=times",
        "look=level",
        "from=1e9",
        "v=x",
        "v=-1",
    ],
)
def test_an_address_that_shows_nothing_says_why(client, home, query):
    for address in (f"{home}/look?{query}", f"{home}/look/1/view.json?type=event&{query}"):
        if "v=" in query and "view.json" in address:
            continue
        answer = client.get(address)
        assert answer.status_code in (200, 400), address
        if answer.status_code == 200:  # the page is shown, and what it loads says why
            address = str(answer.url).replace("/look?v=1&", "/look/1/view.json?")
            answer = client.get(address)
        assert answer.status_code == 400, (address, answer.text[:300])
        assert "Traceback" not in answer.text and "/tmp" not in answer.text


@pytest.fixture(scope="module")
def one_prepared(tmp_path_factory) -> Path:
    """The directories `served`, with one data set, and `repository`, which has it."""
    directory = tmp_path_factory.mktemp("prepared")
    (directory / "served").mkdir()
    write_events(directory / "served" / "events.sesame", 400, 5, title="A <b> set")
    prepare_served(directory)
    return directory


@pytest.fixture
def repository(one_prepared, tmp_path):
    with opened_copy(one_prepared, tmp_path) as opened:
        yield opened


@pytest.fixture
def client(repository):
    return TestClient(make_app(repository, recognisers=[lambda _: repository.local_reader()]))


@pytest.fixture
def home(client, repository) -> str:
    return newest(repository)


def newest(repository) -> str:
    with repository.connection() as connection:
        things = repository.things.find(connection, true())
    return next(one.address for one in things if one.library == "data")


def test_the_page_begins_with_a_view_and_its_address_is_the_view(client, home):
    page = client.get(f"{home}/look")
    assert page.status_code == 200
    assert str(page.url).endswith(f"{home}/look?v=1&type=event")
    assert "A &lt;b&gt; set" in page.text and len(page.content) < 100_000
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    view = client.get(f"{home}/look/1/view.json?type=event").json()
    assert view["title"] == "event records a second"
    assert view["small"]["names"] == [f"rank {i}" for i in range(5)]
    again = client.get(f"{home}/look?type=event&from=&to=&only=&v=1&bins=&look=rate")
    assert str(again.url) == str(page.url)
    assert home + "/look" in client.get(home).text


def test_the_form_offers_arrays_where_their_elements_are_shown(client, home):
    page = client.get(f"{home}/look?look=record&type=event&y=times&row=7")
    assert page.status_code == 200
    assert '<option value="times" selected>' in page.text
    assert '<option value="times"' not in client.get(f"{home}/look?look=pair&type=event").text


def test_the_home_page_links_to_looks_of_each_record_type(client, home):
    assert f'href="{home}/look"' in client.get(home).text
    assert f'href="{home}/look?type=event"' in client.get(home).text


PARTS = ("", "/1/view.json", "/1/picture.svg", "/1/picture.png", "/1/view.csv", "/1/records.csv")


def test_what_is_private_or_not_there_is_a_404(client, repository, home):
    anyone = TestClient(make_app(repository))
    for part in PARTS:
        assert anyone.get(f"{home}/look{part}?type=event").status_code == 404
        assert client.get(f"{home}/look{part}?type=event").status_code == 200
        assert client.get(f"{home}/look{part}?type=none").status_code == 404
        other = f"{home}/look{part.replace('/1/', '/2/')}?type=event&v=2"
        assert client.get(other).status_code == 404
    assert client.get("/d/00000000/look").status_code == 404
    assert client.get(f"{home}/look/{1 << 70}/view.json").status_code == 404


def read_csv(answer) -> list[list[str]]:
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    return list(csv.reader(io.StringIO(answer.text)))


def test_records_are_downloaded_with_names_and_arrays(client, home, tmp_path):
    from sesame.datasets import DataSet

    data_set = DataSet(tmp_path / "served" / "events.sesame")
    rows = read_csv(client.get(f"{home}/look/1/records.csv?type=event"))
    assert rows[0] == ["rank", "begin_ns", "end_ns", "what", "bytes", "ratio", "times"]
    expected = asked(data_set, "select * from event")
    assert [[*map(str, row[:5])] for row in expected] == [row[:5] for row in rows[1:]]
    assert [json.loads(row[6]) for row in rows[1:]] == [row[6] for row in expected]
    chosen = "type=event&field=what&field=bytes&nodes=2-3&from=1&to=5&only=what:" + quote(
        "read, a file"
    )
    rows = read_csv(client.get(f"{home}/look/1/records.csv?{chosen}"))
    query = (
        "select what, bytes::text from event where rank in (2, 3) and begin_ns >= 1000000000 and "
        "begin_ns < 5000000000 and what = 'read, a file'"
    )
    assert [tuple(row) for row in rows[1:]] == asked(data_set, query)


def test_numbers_and_pictures_of_a_view_are_downloaded(client, home):
    rows = read_csv(client.get(f"{home}/look/1/view.csv?type=event&of=bytes"))
    assert rows[0][:4] == ["node", "from_s", "to_s", "records"]
    assert sum(float(row[3]) for row in rows[1:]) == 400
    for look in ("", "look=pair&xscale=log&", "look=record&"):
        query = f"{look}type=event"
        svg = client.get(f"{home}/look/1/picture.svg?{query}")
        png = client.get(f"{home}/look/1/picture.png?{query}")
        assert svg.status_code == 200, svg.text
        assert svg.headers["content-disposition"].endswith('.svg"')
        assert "A &lt;b&gt; set" in svg.text and png.content[:4] == b"\x89PNG"
        assert svg.text.count("<") < 500  # no element for each record
        assert client.get(f"{home}/look/1/picture.png?{query}").content == png.content


def test_what_was_prepared_wrongly_is_an_error_in_words(client, repository, home):
    with repository.connection() as connection:
        version = repository.things.version(connection, home.rpartition("/")[2])
    index = repository.derived(version) / "looks" / "index.json"
    whole = json.loads(index.read_text())
    for change in (
        {"version": 99},
        {"tables": [{}]},
        {"tables": [{**whole["tables"][0], "bins": 10**9}]},
        {"tables": 7},
    ):
        index.write_text(json.dumps({**whole, **change}))
        read_prepared.cache_clear()
        answer = client.get(f"{home}/look")
        assert (answer.status_code, "sums of these records" in answer.text) == (400, True)
    index.write_text(json.dumps(whole))
    (index.parent / "bins-0.zst").write_bytes(b"no sums")
    read_prepared.cache_clear()
    assert client.get(f"{home}/look/1/view.json?type=event").status_code == 400
    read_prepared.cache_clear()


def test_program_and_system_come_from_the_play_back(client, repository, tmp_path):
    mesh = 'kind = "mesh"\ndims = [2, 4]'
    write_run(tmp_path / "served" / "run.sesame", 8, mesh, steps=10, step_s=0.1)
    add_found(repository, tmp_path / "served", print)
    home = newest(repository)
    query = "look=level&node=node 0"
    shown = client.get(f"{home}/look/1/view.json?{query}").json()
    titles = [one["chart"]["y"]["title"] for one in shown["charts"]]
    assert titles[0] == "The program: share of the time"
    assert titles[-1].startswith("The system: ")
    rows = read_csv(client.get(f"{home}/look/1/view.csv?{query}"))
    computing = [float(row[rows[0].index("program: computation")]) for row in rows[1:]]
    assert np.mean(computing) == pytest.approx(0.5, abs=0.01)


# ---- The confined process ----


def test_a_process_answers_ends_and_is_started_again(tmp_path):
    data_set = write_events(tmp_path / "run.sesame", 500, 4)
    table = prepared(data_set, tmp_path / "out")["event"].table
    request = {"what": "bins", "table": to_json(table), "field": "bytes", "begin": 0.0}
    request |= {"end": 10.0, "bins": 16, "selection": ALL}
    asking = Asking()
    try:
        first = asking.ask(data_set.path, request)
        expected = answer(data_set, request)
        assert all((first[name] == expected[name]).all() for name in expected)
        with pytest.raises(InputError, match="no field none"):
            asking.ask(data_set.path, {**request, "field": "none"})
        (process,) = asking._processes.values()
        process.end()
        assert (asking.ask(data_set.path, request)["sums"] == first["sums"]).all()
    finally:
        asking.close()


def test_a_process_is_not_ended_for_others_while_it_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("sesame.repository.looks.asking.MOST_PROCESSES", 1)
    data_set = write_events(tmp_path / "run.sesame", 10, 1)
    table = prepared(data_set, tmp_path / "out")["event"].table
    request = {"what": "elements", "table": to_json(table), "field": "times", "row": 0}
    asking = Asking()
    try:
        with asking._used(tmp_path) as process:
            asking.ask(data_set.path, request)
            assert not process.has_ended
        asking.ask(data_set.path, request)
        assert process.has_ended
    finally:
        asking.close()


def test_who_waits_for_a_process_that_ends_gets_another(tmp_path):
    data_set = write_events(tmp_path / "run.sesame", 10, 1)
    table = prepared(data_set, tmp_path / "out")["event"].table
    request = {"what": "elements", "table": to_json(table), "field": "times", "row": 0}
    asking = Asking()
    asking.ask(data_set.path, request)
    (process,) = asking._processes.values()
    try:
        with ThreadPoolExecutor(1) as threads:
            with process.lock:  # as another question that takes long
                waits = threads.submit(asking.ask, data_set.path, request)
                while not process.users:
                    time.sleep(0.001)
                asking._drop(data_set.path, process)
            assert "values" in waits.result(timeout=30)
    finally:
        asking.close()


def test_a_process_that_ends_while_it_is_asked_is_replaced(tmp_path, monkeypatch):
    """As one does whose thread of the server has just ended."""
    data_set = write_events(tmp_path / "run.sesame", 10, 1)
    table = prepared(data_set, tmp_path / "out")["event"].table
    request = {"what": "elements", "table": to_json(table), "field": "times", "row": 0}
    asking = Asking()
    try:
        asking.ask(data_set.path, request)
        (process,) = asking._processes.values()
        process._process.kill()
        process._process.wait()
        monkeypatch.setattr("sesame.repository.looks.asking._Process.is_alive", True)
        assert "values" in asking.ask(data_set.path, request)
    finally:
        asking.close()


def array_of(*shape: object, type: str = "<f8") -> dict[str, object]:
    return {"name": "x", "type": type, "shape": list(shape)}


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    "header",
    [
        {"arrays": [array_of(1, type="|O")]},
        {"arrays": [array_of(-1)]},
        {"arrays": [array_of(1.5)]},
        {"arrays": [array_of(10**400, 10**400)]},
        {"arrays": [array_of(0, 10**30)]},
        {"arrays": [array_of(LARGEST_ANSWER // 8), array_of(1)]},
        {"arrays": 7},
        7,
    ],
)
def test_a_wrong_answer_of_a_process_is_refused(tmp_path, monkeypatch, header):
    """It may have been taken over by what it reads."""
    said, zeros = iter([json.dumps(header).encode() + b"\n"]), bytes(1 << 18)
    process = "sesame.repository.looks.asking._Process"
    monkeypatch.setattr(f"{process}.send", lambda process, request: None)
    monkeypatch.setattr(f"{process}.read", lambda process, most, end: next(said, zeros))
    asking = Asking()
    try:
        with pytest.raises(InputError, match="ended"):
            asking.ask(tmp_path, {})
        assert not asking._processes
    finally:
        asking.close()


def test_a_question_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    data_set = write_events(tmp_path / "run.sesame", 10, 1)
    table = prepared(data_set, tmp_path / "out")["event"].table
    request = {"what": "elements", "table": to_json(table), "field": "times", "row": 0}
    monkeypatch.setattr("sesame.repository.looks.asking.SECONDS", 0.0)
    asking = Asking()
    with pytest.raises(TooLong):
        asking.ask(data_set.path, request)
    monkeypatch.undo()
    try:
        assert "values" in asking.ask(data_set.path, request)
    finally:
        asking.close()
