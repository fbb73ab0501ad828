"""The search of a repository, in SQLite and in PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests import postgres
from tests.python.new_repository import new_repository

from sesame.errors import InputError
from sesame.repository.app import make_app
from sesame.repository.search.entries import content_of, figures_in, prepare
from sesame.repository.search.find import excerpt, find
from sesame.repository.search.pages import search
from sesame.repository.search.query import Number, Query, Record, parse
from sesame.repository.search.suggest import correct, suggest
from sesame.repository.store import Reader, Repository, schema
from sesame.repository.store.files import FileStore
from sesame.repository.store.search_index import Entry, put_entry
from sesame.repository.store.things import NewThing, NewVersion


@pytest.fixture(scope="module")
def server():
    programs = postgres.programs()
    if programs is None:
        yield None
    else:
        with postgres.server(programs) as started:
            yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def repository(request, tmp_path):
    if request.param == "sqlite":
        made = Repository.in_directory(tmp_path / "repository")
    else:
        server = request.getfixturevalue("server")
        if server is None:
            pytest.skip("PostgreSQL is not installed")
        url = server.new_database().replace("postgresql:", "postgresql+psycopg:")
        made = Repository(url, FileStore(str(tmp_path / "files")), tmp_path / "cache")
    yield made
    made.close()


def add_account(repository: Repository, name: str, role: str = "contributor") -> Reader:
    with repository.connection() as connection:
        values = {"name": name, "role": role, "display_name": name.title()}
        made = connection.execute(schema.account.insert().values(values))
        return Reader(made.inserted_primary_key[0], name, role)


def info(**more: object) -> dict:
    fields = [{"name": "rank"}, {"name": "bytes"}]
    return {
        "kind": "traced",
        "title": "a run",
        "instrument": {"name": "sesame trace", "version": "0.1"},
        "host": {"name": "node17"},
        "begin_time": "2026-03-15T10:00:00+00:00",
        "ranks": 64,
        "command": ["/opt/bin/lu", "-n", "4"],
        "result": {"outcome": "completed", "duration_s": 2.5, "io": {"read": 7}},
        "record_types": {"io": {"rows": 1200, "meaning": "calls on files", "fields": fields}},
        **more,
    }


def add(repository: Repository, owner: Reader, title: str, **more) -> str:
    description = more.pop("description", "")
    found = more.pop("info", info())
    values = {"visibility": "public", "state": "accepted", **more}
    with repository.connection() as connection:
        new = NewThing("data", owner.id, title, description=description, **values)
        thing = repository.things.add(connection, new)
        repository.things.add_version(connection, thing.id, NewVersion([], found))
    return thing.id


def items(repository: Repository, reader: Reader | None, text: str) -> list[str]:
    return [hit.item for hit in search(repository, reader, text)[1].hits]


def test_a_search_is_words_and_filters():
    query = parse(
        'lustre "collective write" system:lumi instrument:"sesame trace" record:io.bytes '
        "field:wait_s ranks>512 predicted_time <= 2.5ms in:data in:message sort:new a:b"
    )
    assert query == Query(
        words=["lustre", "collective write", "a:b"],
        matches=[("system", "lumi"), ("instrument", "sesame trace")],
        records=[Record("io", "bytes"), Record("", "wait_s")],
        numbers=[Number("ranks", ">", 512.0), Number("predicted_time", "<=", 0.0025)],
        libraries=["data", "message"],
        newest_first=True,
    )


@pytest.mark.parametrize(
    ("said", "begin", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2024-2-29", "2024-02-29", "2024-03-01"),
        ("2026-01..2026-03", "2026-01-01", "2026-04-01"),
        ("..2026", "", "2027-01-01"),
        (">2026-03", "2026-04-01", ""),
        (">=2026-03", "2026-03-01", ""),
        ("<2026-03", "", "2026-03-01"),
        ("<=2026-03", "", "2026-04-01"),
    ],
)
def test_dates_are_days_months_years_and_ranges(said, begin, end):
    query = parse(f"date:{said}")
    assert (query.begin, query.end) == (begin, end)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("date:yesterday", "date:yesterday: expected date:2026, date:2026-03"),
        ("date:2026-02-30", "date:2026-02-30: expected"),
        ("in:books", "in:books: expected one of data, tool"),
        ("sort:size", "sort:size: expected sort:new"),
        ('system:""', "system: expected a machine"),
        ("time<3parsec", "time<3parse: unit parse|time"),
        ("size>3xy", "size>3xy: unit xy, expected one of k, M"),
        ("x " * 30, "at most 24 words"),
        ("x" * 501, "at most 500 characters"),
    ],
)
def test_a_wrong_search_says_what_is_expected(said, wrong):
    if "parsec" in said:  # no unit has more than three letters: it is a word
        assert parse(said).words == ["time<3parsec"]
        return
    with pytest.raises(InputError, match=wrong):
        parse(said)


def test_things_are_found_by_text_system_program_date_person_record_and_figure(repository):
    ann, bob = add_account(repository, "ann"), add_account(repository, "bob")
    one = add(repository, ann, "Collective writes to Lustre", description="With ROMIO hints.")
    two = add(
        repository,
        bob,
        "Allreduce on Slingshot",
        info=info(
            ranks=4096,
            command=["osu_allreduce"],
            begin_time="2025-01-02T00:00:00+00:00",
            target_system={"name": "LUMI-C"},
            instrument={"name": "sesame simulate", "version": "0.1"},
            result={"predicted_time_s": 0.002, "outcome": "completed"},
            record_types={"mpi": {"rows": 5, "meaning": "calls", "fields": [{"name": "comm"}]}},
        ),
    )
    expected = {
        "lustre": [one],
        "LUSTRE hint": [one],
        "writing": [one],  # an inflection
        '"writes to lustre"': [one],
        '"lustre writes"': [],
        "allred*": [two],
        "osu_allreduce": [two],
        "system:lumi": [two],
        "system:node17 allreduce": [two],
        'instrument:"sesame simulate"': [two],
        "program:lu": [one],
        "person:ann": [one],
        "date:2026-03": [one],
        "date:2026-03-15": [one],
        "date:<2026": [two],
        "record:io": [one],
        "record:io.bytes": [one],
        "record:io.comm": [],
        "field:comm": [two],
        "ranks>512": [two],
        "ranks<=64": [one],
        "predicted_time=2ms": [two],
        "duration_s>2 in:data": [one],
        "io_read=7": [one],
        "io_records>=1.2k": [one],
        "ranks>512 lustre": [],
        "in:tool ranks>0": [],
    }
    got = {said: items(repository, None, said) for said in expected}
    assert {said: [i for i in found if i in (one, two)] for said, found in got.items()} == expected
    assert items(repository, None, "sort:new ranks>0") == [two, one]


def test_a_thing_that_is_changed_versioned_or_removed_is_found_as_it_is_now(repository):
    ann = add_account(repository, "ann")
    one = add(repository, ann, "first zebra")
    assert items(repository, None, "zebra") == [one]
    with repository.connection() as connection:
        repository.things.change(connection, one, title="first okapi")
    assert (items(repository, None, "zebra"), items(repository, None, "okapi")) == ([], [one])
    with repository.connection() as connection:
        more = info(ranks=9, record_types={})
        repository.things.add_version(connection, one, NewVersion([], more, "second"))
    assert items(repository, None, "ranks=9") in ([], [one])
    with repository.connection() as connection:
        connection.execute(schema.version.delete())
        connection.execute(schema.thing.delete())
    assert items(repository, None, "okapi") == []


def test_what_a_reader_may_not_see_is_not_found_counted_suggested_or_proposed(repository):
    ann, eve = add_account(repository, "ann"), add_account(repository, "eve")
    rita = add_account(repository, "rita", "reviewer")
    hidden = {"visibility": "private", "info": info(host={"name": "secretmachine"})}
    private = add(repository, ann, "quagga private", **hidden)
    unlisted = add(repository, ann, "quagga unlisted", visibility="unlisted")
    waiting = add(repository, ann, "quagga waiting", state="waiting")
    later = datetime.now(UTC) + timedelta(days=1)
    embargo = add(repository, ann, "quagga later", public_from=later)
    public = add(repository, ann, "quagga public")
    for reader in (None, eve):
        _, found = search(repository, reader, "quagga")
        assert ([hit.item for hit in found.hits], found.counts) == ([public], {"data": 1})
    assert items(repository, None, "system:secretmachine") == []
    assert set(items(repository, ann, "quagga")) == {private, unlisted, waiting, embargo, public}
    assert waiting in items(repository, rita, "quagga")
    assert private not in items(repository, rita, "quagga")
    with repository.connection() as connection:
        for reader, expected in ((eve, []), (ann, ["system:secretmachine"])):
            visible = repository.visible_to(reader)
            assert [one.text for one in suggest(connection, "system:secr", visible)] == expected
            titles = {one.about for one in suggest(connection, "quag", visible)}
            assert ("quagga private" in titles) == (reader is ann)
            near = correct(connection, parse("secretmachin"), visible)
            assert near == ({"secretmachin": "secretmachine"} if reader is ann else {})


def test_a_message_about_several_things_is_seen_by_those_who_see_all_of_them(repository):
    from sesame.repository.store.talk_tables import talk_thing, talk_thread

    ann, eve = add_account(repository, "ann"), add_account(repository, "eve")
    public = add(repository, ann, "public")
    private = add(repository, ann, "private", visibility="private")
    with repository.connection() as connection:
        row = {"id": "aaaaaaaa", "title": "both", "place": "", "author": ann.id, "messages": 1}
        times = {"created": schema.now(), "last": schema.now()}
        new = talk_thread.insert().values(**row, **times, locked=False, hidden=False)
        connection.execute(new)
        for each in (public, private):
            connection.execute(talk_thing.insert().values(thread="aaaaaaaa", thing=each))
        where = {"thing": public, "thread": "aaaaaaaa", "several": True}
        message = Entry("message", "m", "/talk/a", "both", "these differ", schema.now(), **where)
        put_entry(connection, message)
    assert items(repository, eve, "differ") == []
    assert items(repository, ann, "differ") == ["m"]


def test_counts_stop_at_their_bound_and_pages_continue(repository, monkeypatch):
    monkeypatch.setattr("sesame.repository.search.find.MOST_RANKED", 300)
    with repository.connection() as connection:
        for number in range(300 + 5):
            word = "rare" if number == 3 else "common"
            new = Entry("page", str(number), f"/{number}", f"{word} {number}", "", schema.now())
            put_entry(connection, new)
        found = find(connection, parse("common"), repository.visible_to(None), 2)
        assert (found.is_cut, found.total, len(found.hits)) == (True, 300 + 1, 20)
        assert found.has_more
        found = find(connection, parse("rare"), repository.visible_to(None))
        assert ([hit.item for hit in found.hits], found.is_cut) == (["3"], False)


HOSTILE = [
    *(
        '"',
        'a"b',
        "*",
        "a*b*",
        "(a OR b)",
        "NEAR(a b)",
        "title:x",
        "a' OR 1=1 --",
        "\0",
        "%_",
        "-a",
    ),
    *(
        "a & b | !c",
        ":*",
        "' : *",
        "^a",
        "{a b}:c",
        "system:%",
        "ünïcödé",
        "日本語",
        "record:a.b.c",
    ),
]


def test_no_text_is_code_for_the_database(repository):
    ann = add_account(repository, "ann")
    add(repository, ann, "nothing special")
    for said in HOSTILE:
        if "\0" in said and repository.engine.dialect.name == "postgresql":
            said = said.replace("\0", " ")
        search(repository, None, said)
        with repository.connection() as connection:
            suggest(connection, said, repository.visible_to(None))
            assert connection.execute(text("select count(*) from thing")).scalar() == 1, said


@pytest.mark.parametrize(
    "bad",
    [
        {"record_types": [], "result": 3},
        {"kind": "unheard of", "title": None},
        {"host": "x", "instrument": 7, "command": None, "ranks": "many"},
        {"record_types": {"io": 3, "x": {"fields": [1, {"name": None}]}}, "target_system": []},
        {"result": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}, "n": float("nan"), "big": 10**400}},
    ],
)
def test_an_info_that_is_not_as_it_should_be_stops_no_search(bad):
    content = content_of(info() | bad)
    assert isinstance(content.text, str) and len(content.text) < 1000
    assert all(isinstance(value, float) for value in content.numbers.values())


def test_an_excerpt_shows_the_first_match():
    body = "word " * 100 + "then collectives are measured " + "word " * 100
    parts = excerpt(body, ["collective", "measuring"])
    assert [part for part, matches in parts if matches] == ["collectives", "measured"]
    assert parts[0][0].startswith("… ") and parts[-1][0].endswith(" …")


def test_figures_of_a_workload_are_found(tmp_path):
    from tests.some_info import some_info

    from sesame.datasets import DataSetWriter

    with DataSetWriter(tmp_path / "run.sesame") as writer:
        columns = {"name": ["Peak Rate", "nan"], "value": [12.5, float("nan")], "unit": ["", ""]}
        writer.write_records("figure", columns)
        writer.finish(some_info("bench", title="a workload"))
    prepare(Path(tmp_path / "run.sesame"), tmp_path)
    assert figures_in(tmp_path) == {"peak_rate": 12.5}
    assert figures_in(tmp_path / "nowhere") == {}


@pytest.fixture
def local(tmp_path):
    """A browser without an account, and the repository."""
    made = new_repository(tmp_path / "repository")
    with TestClient(make_app(made), base_url="http://localhost") as client:
        yield client, made
    made.close()


def test_the_page_shows_results_filters_and_what_was_wrong(local):
    client, repository = local
    ann = add_account(repository, "ann")
    one = add(repository, ann, "A <b>bold</b> okapi", description="striped <script>")
    shown = client.get("/search", params={"q": "okapi"})
    assert shown.status_code == 200
    assert f'href="/d/{one}"' in shown.text and "1 result" in shown.text
    assert "&lt;b&gt;bold" in shown.text and "<b>bold" not in shown.text
    striped = client.get("/search", params={"q": "stripes"})
    assert "<mark>striped</mark> &lt;script&gt;" in striped.text
    form = client.get("/search", params={"q": "okapi", "system": "node 17", "person": "ann"})
    assert "okapi system:&#34;node 17&#34; person:ann" in form.text
    wrong = client.get("/search", params={"q": "in:books"})
    assert (wrong.status_code, "in:books: expected one of data" in wrong.text) == (400, True)
    near = client.get("/search", params={"q": "okappi"})
    assert 'Did you mean <a href="/search?q=okapi">okapi</a>' in near.text
    far = client.get("/search", params={"q": "xylophone"})
    assert "Nothing that you may see matches" in far.text
    assert client.get("/search").status_code == 200
    assert client.get("/search", params={"q": "a", "page": "x" * 50}).status_code == 200


def test_the_api_finds_and_suggests(local):
    client, repository = local
    ann = add_account(repository, "ann")
    one = add(repository, ann, "Collective writes")
    found = client.get("/api/v1/search", params={"q": "write ranks>=64"}).json()
    assert ([hit["id"] for hit in found["hits"]], found["counts"]) == ([one], {"data": 1})
    refused = client.get("/api/v1/search", params={"q": "in:books"})
    assert (refused.status_code, "expected one of" in refused.json()["error"]) == (400, True)
    suggested = client.get("/search/suggest", params={"q": "system:nod"}).json()
    assert [each["text"] for each in suggested] == ["system:node17"]
    titles = client.get("/api/v1/search/suggestions", params={"q": "collec"}).json()
    assert {"text": "collec", "about": "Collective writes", "address": f"/d/{one}"} in titles


def test_the_documentation_of_record_types_is_found(local):
    client, _ = local
    found = client.get("/api/v1/search", params={"q": "record:kernel_summary in:page"}).json()
    assert [hit["address"] for hit in found["hits"]] == ["/records/kernel_summary"]


def test_pages_of_the_documentation_are_found(local):
    client, _ = local
    found = client.get("/api/v1/search", params={"q": "blktrace DFTracer in:page"}).json()
    addresses = [one["address"] for one in found["hits"]]
    assert "/docs/formats/exchange" in addresses
    assert client.get(addresses[0]).status_code == 200


def test_titles_are_suggested_before_pages_that_have_the_words(local):
    client, repository = local
    one = add(repository, add_account(repository, "ann"), "the second run")
    for typed in ("the second run", "the sec"):
        first = client.get("/search/suggest", params={"q": typed}).json()[0]
        assert (first["about"], first["address"]) == ("the second run", f"/d/{one}")
