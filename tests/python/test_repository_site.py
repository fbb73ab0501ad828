"""The configuration of a site; backup, restore and check of a repository."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.python.made_runs import write_run
from tests.python.new_repository import new_repository

from sesame.errors import InputError
from sesame.repository import process
from sesame.repository.backup import back_up, restore
from sesame.repository.check import check
from sesame.repository.local import add_found
from sesame.repository.site import read_site
from sesame.repository.store import Repository, schema

CROSSBAR = 'kind = "crossbar"'


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A repository with a run of two versions."""
    directory = tmp_path_factory.mktemp("filled")
    repository = Repository.in_directory(directory / "repository")
    run = directory / "run.sesame"
    write_run(run, 4, CROSSBAR)
    add_found(repository, directory, print)
    run.rename(directory / ".first")
    write_run(run, 8, CROSSBAR)
    add_found(repository, directory, print)
    yield repository
    repository.close()


def copy_of(repository: Repository, directory: Path) -> Repository:
    directory.mkdir(exist_ok=True)
    back_up(repository, directory / "backup.tar")
    copy = Repository.in_directory(directory / "copy")
    restore(copy, directory / "backup.tar")
    return copy


def test_what_is_restored_is_what_was_backed_up(filled, tmp_path):
    copy = copy_of(filled, tmp_path)
    with filled.connection() as before, copy.connection() as after:
        for table in (schema.thing, schema.version, schema.file, schema.account, schema.link):
            rows = [sorted(map(str, one.execute(table.select()))) for one in (before, after)]
            assert rows[0] == rows[1]
        [thing] = copy.things.find(after, schema.thing.c.library == "data")
    ranks = [copy.data_set(thing.id, number).info.ranks for number in (1, 2)]
    assert ranks == [4, 8]
    assert list(check(copy, contents=True)) == []


def test_a_repository_that_is_not_empty_is_not_restored_into(filled, tmp_path):
    back_up(filled, tmp_path / "backup.tar")
    with pytest.raises(InputError, match="not empty"):
        restore(filled, tmp_path / "backup.tar")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.75])
def test_of_a_backup_that_is_cut_off_no_row_is_restored(filled, tmp_path, part):
    whole = tmp_path / "backup.tar"
    back_up(filled, whole)
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole.read_bytes()[: int(part * whole.stat().st_size)])
    copy = Repository.in_directory(tmp_path / "copy")
    with pytest.raises(InputError):
        restore(copy, cut)
    with copy.connection() as connection:
        assert copy.things.find(connection, schema.thing.c.id != "") == []


def test_a_file_of_a_backup_with_another_content_is_refused(filled, tmp_path):
    whole, other = tmp_path / "backup.tar", tmp_path / "other.tar"
    back_up(filled, whole)
    with tarfile.open(whole) as source, tarfile.open(other, "w") as target:
        for entry in source:
            content = source.extractfile(entry).read()
            if entry.name.startswith("files/"):
                content = content[:-1] + bytes([content[-1] ^ 1])
            (tmp_path / "content").write_bytes(content)
            with (tmp_path / "content").open("rb") as stream:
                target.addfile(entry, stream)
    with pytest.raises(InputError, match="another hash"):
        restore(Repository.in_directory(tmp_path / "copy"), other)


def test_any_other_file_is_no_backup(tmp_path):
    (tmp_path / "text").write_text("text")
    with pytest.raises(InputError, match="backup"):
        restore(Repository.in_directory(tmp_path / "copy"), tmp_path / "text")


def test_check_finds_whatever_lacks_its_other_half(filled, tmp_path):
    copy = copy_of(filled, tmp_path)
    files = sorted((tmp_path / "copy/files").glob("*/*"))
    gone, changed, shorter = files[:3]
    lone = gone.parent / ("0" * 64)
    lone.write_bytes(b"of no row")
    gone.unlink()
    changed.write_bytes(bytes(changed.stat().st_size))
    shorter.write_bytes(shorter.read_bytes()[:-1])
    (tmp_path / "copy/derived/ff" / ("f" * 64)).mkdir(parents=True)
    (tmp_path / "copy/derived/ff" / ("f" * 64) / "x").touch()
    database = sqlite3.connect(tmp_path / "copy/repository.db")
    with database:
        database.execute("delete from version where number = 2")
    database.close()
    found = list(check(copy, contents=True))

    assert f"the file {gone.name} is missing" in found
    assert f"no row refers to the file {lone.name}" in found
    assert f"the content of the file {changed.name} has another hash" in found
    assert any(line.startswith(f"the file {shorter.name} has") for line in found)
    assert f"no version has the derived files {'f' * 64}" in found
    assert any("rows of the table file refer to no row of version" in line for line in found)


def site(path: Path, text: str) -> Path:
    (path / "site.toml").write_text(text)
    return path / "site.toml"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no database"),
        ('database = "sqlite:///x"', "there is no files"),
        ('database = "mysql://x"\nfiles = "f"', "database: expected postgresql"),
        ('database = "sqlite:///x"\nfiles = "f"\nworkers = 0', "workers: expected 1 to"),
        ('database = "sqlite:///x"\nfiles = "f"\nworkers = true', "workers: expected a whole"),
        ('database = "sqlite:///x"\nfiles = "f"\nport = 1', "unknown key port"),
        ('database = "sqlite:///x"\nfiles = "f"\n[s3]\nhost = "x"', "s3: unknown key host"),
        ("database =", "not TOML"),
    ],
)
def test_a_wrong_configuration_is_refused_with_its_key(tmp_path, text, reason):
    with pytest.raises(InputError, match=reason):
        read_site(site(tmp_path, text))


def test_paths_of_a_configuration_are_relative_to_it(tmp_path):
    found = read_site(site(tmp_path, 'database = "sqlite:///x"\nfiles = "f"\n'))
    assert found.files == str(tmp_path / "f")
    assert found.cache == tmp_path / "cache"


MAKE_SITE = """
import sys
from pathlib import Path
from sesame.repository import parts
from sesame.repository.app import make_app
from sesame.repository.store import Repository
parts.load()
before = set(sys.modules)
repository = Repository.in_directory(Path(sys.argv[1]))
make_app(repository)
repository.close()
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(new - {"sqlalchemy", "fsspec", "sqlite3", "_sqlite3"}))
"""


def test_an_unknown_kind_of_files_is_left_to_the_worker(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # what loading sets
    found = read_site(site(tmp_path, 'database = "sqlite:///x"\nfiles = "none://f"\n'))
    process._load(found)


def test_making_the_application_imports_nothing_after_the_parts_are_loaded(tmp_path):
    """But its database and file system, which may be others."""
    new_repository(tmp_path / "site").close()
    command = [sys.executable, "-c", MAKE_SITE, str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
