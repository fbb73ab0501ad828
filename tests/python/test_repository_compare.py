"""Data sets compared in the repository: sides, studies, what is not to be seen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import true
from starlette.testclient import TestClient
from tests.python.made_runs import write_run
from tests.python.new_repository import new_repository
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, Field, RecordType
from sesame.errors import InputError
from sesame.repository.app import make_app
from sesame.repository.compare import bounded
from sesame.repository.compare.bounded import BoundedDataSet
from sesame.repository.compare.sides import Compared, difference_of
from sesame.repository.compare.study import (
    NO_SETTING,
    TIME,
    Setting,
    figures_of,
    section_of,
    settings_of,
    usual_setting,
)
from sesame.repository.store import NewThing, Repository, schema

MESH = 'kind = "mesh"\ndims = [8, 8]'


@pytest.fixture
def repository(tmp_path):
    opened = new_repository(tmp_path / "repository")
    yield opened
    opened.close()


@pytest.fixture
def client(repository):
    return TestClient(make_app(repository, recognisers=[lambda _: repository.local_reader()]))


def add(repository: Repository, directory: Path) -> dict[str, str]:
    """Adds the data sets of a directory, or new versions of them; their identifiers by title.
    Nothing is prepared, which takes a process for each."""
    owner = repository.local_reader().id
    for path in sorted(directory.iterdir()):
        stored = repository.store_directory(path)
        with repository.connection() as connection:
            (known,) = repository.things.find(connection, schema.thing.c.source == path.name) or [
                None
            ]
            if known is None:
                new = NewThing(
                    "data", owner, stored.info["title"], state="accepted", source=path.name
                )
                known = repository.things.add(connection, new)
            repository.things.add_version(connection, known.id, stored)
    with repository.connection() as connection:
        return {one.title: one.id for one in repository.things.find(connection, true())}


def compared_of(repository: Repository, identifiers: list[str]) -> list[Compared]:
    found = []
    with repository.connection() as connection:
        for one in identifiers:
            version = repository.things.version(connection, one)
            found.append(Compared(repository.things.get(connection, one), version, Path()))
    return [Compared(one.thing, one.version, repository.directory(one.version)) for one in found]


def set_time(path: Path, seconds: float, ranks: int) -> None:
    """Another predicted time, as a repetition has."""
    info = json.loads((path / "info.json").read_text())
    info["result"]["predicted_time_s"] = seconds
    (path / "info.json").write_text(json.dumps(info))


@pytest.fixture
def study(tmp_path, repository):
    """Two runs of 4 ranks, two of 8, one of 16; their times are 4 and 5, 2 and 3, 1 s."""
    for ranks, times in ((4, (4.0, 5.0)), (8, (2.0, 3.0)), (16, (1.0,))):
        for i, seconds in enumerate(times):
            path = tmp_path / "served" / f"{ranks}-{i}.sesame"
            write_run(path, ranks, MESH, steps=2, title=f"{ranks} ranks, run {i}")
            set_time(path, seconds, ranks)
    return add(repository, tmp_path / "served")


def test_repetitions_are_one_side_with_the_interval_of_their_times(repository, study):
    names = sorted(study, key=lambda title: int(title.split()[0]))
    difference = difference_of(compared_of(repository, [study[n] for n in names]), grouped=True)
    assert [len(side.runs) for side in difference.sides] == [2, 2, 1]
    time = figures_of(difference)[TIME]
    assert [(v.value, v.low, v.high) for v in time.values] == [(4.5, 4, 5), (2.5, 2, 3), (1, 1, 1)]
    ranks = settings_of(difference)["ranks"]
    assert ranks.numbers == (4, 8, 16)
    alone = difference_of(compared_of(repository, [study[n] for n in names]), grouped=False)
    assert len(alone.sides) == 5


def test_runs_that_are_all_repetitions_stay_beside_each_other(repository, study):
    both = [study["4 ranks, run 0"], study["4 ranks, run 1"]]
    difference = difference_of(compared_of(repository, both), grouped=True)
    assert [len(side.runs) for side in difference.sides] == [1, 1]
    assert list(settings_of(difference)) == [NO_SETTING]


def chart_in(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])


def test_the_page_shows_the_study_that_its_address_names(client, study):
    query = [("d", one) for one in study.values()]
    page = client.get("/compare", params=[*query, ("figure", "time"), ("over", "ranks")])
    assert page.status_code == 200
    chart = chart_in(page.text)
    assert (chart["x"]["title"], chart["y"]["title"]) == ("ranks", "time (s)")
    assert chart["marks"][0]["x"] == [4, 8, 16]
    assert [chart["marks"][0][name] for name in ("y", "low", "high")] == [
        [4.5, 2.5, 1],
        [4, 2, 1],
        [5, 3, 1],
    ]
    assert "numbers of ranks differ" in page.text
    wait = client.get("/compare", params=[*query, ("figure", "time in MPI_Wait"), ("alone", "1")])
    assert len(chart_in(wait.text)["marks"][0]["y"]) == 5
    assert len(page.content) < 300_000


def test_the_paths_of_the_server_are_not_shown(client, repository, study, tmp_path):
    with DataSetWriter(tmp_path / "served" / "m.sesame") as writer:
        writer.finish(some_info("measured", title="a measurement"))
    identifiers = add(repository, tmp_path / "served")
    chosen = [identifiers["a measurement"], identifiers["16 ranks, run 0"]]
    page = client.get("/compare", params=[("d", one) for one in chosen])
    assert page.status_code == 200
    assert "a measured data set: expected a simulated" in page.text
    assert str(tmp_path) not in page.text
    assert "predicted_time_s" in page.text  # its result is beside the other's, which has none


def test_a_study_is_over_ranks_or_the_only_number_that_differs(repository, tmp_path):
    for latency in (1, 2):
        path = tmp_path / "served" / f"l{latency}.sesame"
        text = f'{MESH}\n[storage]\nmount = ["/a"]\nionodes = {latency}'
        write_run(path, 4, text, steps=1, title=f"run {latency}")
    identifiers = add(repository, tmp_path / "served")
    difference = difference_of(compared_of(repository, list(identifiers.values())), grouped=True)
    settings = settings_of(difference)
    assert usual_setting(settings).name == "storage.ionodes"
    others = {**settings, "x": Setting("x", ("1", "2"), "", (1, 2))}
    assert usual_setting(others).name == NO_SETTING
    section = section_of(difference, figures_of(difference)[TIME], others["x"], others)
    assert "The sides also differ in storage.ionodes." in section.about
    assert chart_in(section.html)["marks"][0]["kind"] == "points"


def test_two_to_twenty_data_sets_are_compared(client, study):
    (one, other, *_) = study.values()
    assert "Choose at least one more" in client.get(f"/compare?d={one}").text
    assert "Choose at least one more" in client.get(f"/compare?d={one}&d={one}").text
    assert client.get("/compare").status_code == 200
    assert client.get(f"/compare?d={one}@1&d={other}").status_code == 200
    assert client.get(f"/compare?d={one}@2&d={other}").status_code == 404
    assert client.get(f"/compare?d={one}@x&d={other}").status_code == 404
    assert client.get(f"/compare?d={one}@{1 << 70}&d={other}").status_code == 404
    many = [("d", f"{number:08}") for number in range(21)]
    refused = client.get("/compare", params=many)
    assert (refused.status_code, "Expected 2 to 20 data sets, got 21" in refused.text) == (
        400,
        True,
    )


def test_what_a_reader_may_not_see_is_not_compared(repository, study):
    anyone = TestClient(make_app(repository))
    one, other, *_ = study.values()
    for path in (f"/compare?d={one}", f"/compare?d={one}&d={other}"):
        assert anyone.get(path).status_code == 404
    assert "16 ranks" not in anyone.get("/compare").text


OWN = RecordType("phase", "one phase", (Field("time", "float64", "s", "how <long> it took"),))


def test_a_record_type_has_its_documentation_its_data_sets_and_its_analyses(
    client, repository, study
):
    page = client.get("/records/message").text
    assert "One message from one rank to another" in page
    assert "when the receive was complete" not in page or "simulated time" in page
    assert "5 that you may read" in page and "16 ranks, run 0" in page
    newest = re.search(r'href="/d/(\w+)/play\?field=message.records:rate"', page)[1]
    assert client.get(f"/d/{newest}/play?field=message.records:rate").status_code == 200
    with repository.connection() as connection:
        version = repository.things.version(connection, newest)
    views = [{"name": "time line", "about": "What every rank did when.", "needs": ["call"]}]
    made = repository.derived(version) / "summary"
    made.mkdir()
    (made / "summary.json").write_text(json.dumps({"views": views}))
    call = client.get("/records/call").text
    assert "time line" in call and "What every rank did when." in call
    listed = client.get("/records").text
    assert 'href="/records/message"' in listed


def test_types_that_only_data_sets_know_are_described_by_them(client, repository, tmp_path):
    (tmp_path / "served").mkdir()
    with DataSetWriter(tmp_path / "served" / "b.sesame") as writer:
        writer.write_described(OWN, {"time": [1.0, 2.0]})
        writer.finish(some_info("bench", title="a workload"))
    add(repository, tmp_path / "served")
    page = client.get("/records/phase").text
    assert "how &lt;long&gt; it took" in page and "a workload" in page
    anyone = TestClient(make_app(repository))
    assert anyone.get("/records/phase").status_code == 404
    assert 'href="/records/phase"' not in anyone.get("/records").text
    assert client.get("/records/nothing").status_code == 404


def test_counts_are_of_the_newest_versions_that_a_reader_sees(client, repository, study, tmp_path):
    path = tmp_path / "served" / "16-0.sesame"
    info = json.loads((path / "info.json").read_text())
    info["title"] = "16 ranks, again"
    (path / "info.json").write_text(json.dumps(info))
    add(repository, tmp_path / "served")
    with repository.connection() as connection:
        assert len(connection.execute(schema.version.select()).all()) == 6
    assert "5 that you may read" in client.get("/records/message").text
    anyone = TestClient(make_app(repository)).get("/records/message")
    assert (anyone.status_code, "16 ranks" in anyone.text) == (200, False)
    assert "No data set that you may read has it" in anyone.text


def test_a_comparison_that_would_read_too_much_is_refused(tmp_path, monkeypatch):
    write_run(tmp_path / "run.sesame", 64, 'kind = "crossbar"', steps=8)
    whole = DataSet(tmp_path / "run.sesame").table("call")
    assert BoundedDataSet(tmp_path / "run.sesame").table("call").equals(whole)
    columns = ["rank", "end_ps"]
    some = BoundedDataSet(tmp_path / "run.sesame").table("call", columns)
    assert some.column_names == columns
    monkeypatch.setattr(bounded, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="of records would be read"):
        BoundedDataSet(tmp_path / "run.sesame").table("call")
