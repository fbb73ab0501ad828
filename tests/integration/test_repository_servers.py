"""A site with PostgreSQL, S3 and several workers, all of which really run."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select
from tests import postgres, s3_server
from tests.command_line import SESAME, sesame
from tests.python.made_runs import write_run

from sesame.repository.check import check
from sesame.repository.local import prepare
from sesame.repository.process import open_site
from sesame.repository.site import read_site
from sesame.repository.store import NewThing, schema

SECONDS = 60


@pytest.fixture(scope="module")
def servers():
    """PostgreSQL and S3."""
    programs = postgres.programs()
    if programs is None:
        pytest.skip("needs PostgreSQL's programs (Debian: postgresql)")
    pytest.importorskip("moto")
    with postgres.server(programs) as database, s3_server.server() as storage:
        yield database, storage


@pytest.fixture
def config(servers, tmp_path):
    """The file of a new site."""
    database, storage = servers
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = tmp_path / "site.toml"
    path.write_text(
        f"""title = "a site"
address = "https://perf.example.org"
listen = "127.0.0.1:{port}"
database = "{database.new_database()}"
files = "s3://{s3_server.BUCKET}/{tmp_path.name}-{port}"
workers = 2
[s3]
endpoint = "{storage}"
key = "any"
secret = "any"
region = "us-east-1"
"""
    )
    return path


def add_run(config: Path, directory: Path) -> str:
    """Adds a public run; returns the address of its page."""
    write_run(directory / "run.sesame", 4, 'kind = "crossbar"', title="a run on four ranks")
    repository = open_site(read_site(config))
    try:
        owner = repository.local_reader().id
        new = repository.store_directory(directory / "run.sesame")
        with repository.connection() as connection:
            public = {"visibility": "public", "state": "accepted"}
            thing = repository.things.add(
                connection, NewThing("data", owner, "a run on four ranks", **public)
            )
            version = repository.things.add_version(connection, thing.id, new)
        prepare(repository, version, print)
    finally:
        repository.close()
    return thing.address


@contextmanager
def served(config: Path):
    """The URL of the site, while it is served."""
    running = subprocess.Popen([*SESAME, "serve", "--config", str(config)])
    url = f"http://{read_site(config).listen}"
    try:
        end = time.monotonic() + SECONDS
        while not answers(url):
            assert running.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield url, running
    finally:
        running.terminate()
        running.wait(SECONDS)


def answers(url: str) -> bool:
    try:
        get(url)
    except OSError:
        return False
    return True


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        return str(answer.read(), "utf-8", "replace")


def workers_of(process: int) -> set[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return set(map(int, found))


def test_a_site_serves_what_is_in_postgresql_and_s3(config, tmp_path):
    address = add_run(config, tmp_path)
    with served(config) as (url, running):
        page = get(url + address)
        assert f"https://perf.example.org{address}/v/1" in page
        assert "a run on four ranks" in get(url)
        [path] = set(re.findall(r'href="(/api/[^"]*/rank.parquet)"', page))
        with urllib.request.urlopen(url + path, timeout=SECONDS) as answer:
            assert answer.read() == (tmp_path / "run.sesame/rank.parquet").read_bytes()
        assert running.poll() is None
    assert running.returncode == 0


def test_a_worker_that_dies_is_replaced(config):
    with served(config) as (url, running):
        before = workers_of(running.pid)
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        end = time.monotonic() + SECONDS
        while len(workers_of(running.pid) - {min(before)}) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert "a site" in get(url)
    assert not any(Path(f"/proc/{one}").exists() for one in before)


@pytest.mark.long
def test_a_site_is_backed_up_and_restored_into_sqlite_and_files(config, tmp_path):
    address = add_run(config, tmp_path)
    other = tmp_path / "other.toml"
    other.write_text('database = "sqlite:///other.db"\nfiles = "files"\n')
    for command in (
        ["backup", "--config", config, "-o", tmp_path / "site.tar"],
        ["restore", tmp_path / "site.tar", "--config", other],
        ["check", "--config", other, "--contents"],
    ):
        done = subprocess.run(
            [*SESAME, "serve", *map(str, command)], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
    repository = open_site(read_site(other))
    with repository.connection() as connection:
        assert connection.scalars(select(schema.thing.c.id)).one() == address[-8:]
    assert repository.data_set(address[-8:]).info.title == "a run on four ranks"
    repository.close()


def test_numbers_continue_after_a_restore_into_postgresql(config, tmp_path):
    add_run(config, tmp_path)
    site = read_site(config)
    repository = open_site(site)
    assert list(check(repository)) == []
    repository.close()
    backup = str(tmp_path / "a.tar")
    done = sesame("serve", "backup", "--config", str(config), "-o", backup)
    assert done.status == 0, done.stderr
    text = config.read_text()
    again = tmp_path / "again.toml"
    name = re.search(r"/(\w+)\?host", site.database)[1]
    again.write_text(text.replace(f"/{name}?", f"/{name}_again?"))
    import psycopg

    with psycopg.connect(site.database, autocommit=True) as connection:
        connection.execute(f"create database {name}_again")
    done = sesame("serve", "restore", backup, "--config", str(again))
    assert done.status == 0, done.stderr
    repository = open_site(read_site(again))
    with repository.connection() as connection:
        values = {"name": "another", "role": "reader"}
        connection.execute(schema.account.insert().values(values))
        numbers = list(connection.scalars(select(schema.account.c.id)))
    assert len(set(numbers)) == len(numbers) == 2
    repository.close()


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("postgresql://sesame@/", "postgresql://other@/", "the database of the repository"),
        ("endpoint = ", 'endpoint = "http://127.0.0.1:9" # ', "files: cannot use s3://"),
    ],
)
def test_a_site_without_its_database_or_storage_says_so(config, old, new, reason):
    config.write_text(config.read_text().replace(old, new))
    done = subprocess.run(
        [*SESAME, "serve", "--config", config], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 2
    assert reason in done.stderr and "Traceback" not in done.stderr
