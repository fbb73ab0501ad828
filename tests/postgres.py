"""A PostgreSQL server of the tests: in a new directory, on a socket there, as a user without
rights.

Debian's package `postgresql` has the programs.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

USER = "postgres"  # of Debian's package
SECONDS = 60


def programs() -> Path | None:
    """Where initdb and postgres are; None without them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self._programs, self.directory = programs, directory
        self._data, self._numbers = directory / "data", itertools.count()
        self._is_root = os.geteuid() == 0
        if self._is_root:
            entry = pwd.getpwnam(USER)
            os.chown(directory, entry.pw_uid, entry.pw_gid)
        options = ["--auth=trust", "--username=sesame", "--encoding=UTF8", "--no-sync"]
        self._run("initdb", "-D", str(self._data), *options)
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if self._is_root:
            command = ["setpriv", f"--reuid={USER}", "--clear-groups", "--", *command]
        done = subprocess.run(
            command, cwd=self.directory, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        settings = f"-c listen_addresses= -c unix_socket_directories={self.directory} -c fsync=off"
        log = str(self.directory / "log")
        self._run("pg_ctl", "start", "-w", "-D", str(self._data), "-l", log, "-o", settings)

    def stop(self) -> None:
        """At once, as in a power failure; a server that is stopped stays so."""
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self._data))

    def url(self, database: str) -> str:
        return f"postgresql://sesame@/{database}?host={self.directory}"

    def new_database(self) -> str:
        """The URL of an empty one."""
        import psycopg

        name = f"evaluation{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)


@contextmanager
def server(programs: Path) -> Iterator[Server]:
    # The path of a socket has to be short.
    directory = Path(mkdtemp(prefix="sesame-pg-", dir="/tmp"))
    started: Server | None = None
    try:
        started = Server(programs, directory)
        yield started
    finally:
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            if started is not None:
                started.stop()
            shutil.rmtree(directory, ignore_errors=True)
        finally:
            signal.signal(signal.SIGINT, previous)
