"""The process `sesame collect` ends with a sentence if one of its tasks does."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.applications import Starlette
from test_collector import TOKENS, FakeNode, intake_of

from sesame.errors import InputError, SesameError
from sesame.measurement.collector import process
from sesame.measurement.collector.process import Collector, collect, serve
from sesame.measurement.collector.server import make_collector_app
from sesame.measurement.collector.settings import Settings
from sesame.measurement.collector.store import Store
from sesame.web.server.listening import listen


@pytest.fixture
def app(tmp_path) -> Starlette:
    store = Store(tmp_path / "store", 600)
    return make_collector_app(store, intake_of(store, tmp_path), TOKENS)


async def dies() -> None:
    await asyncio.sleep(0)
    raise OverflowError("too large")


def test_a_task_that_dies_ends_the_server(app):
    background = {"writing data sets": dies(), "fetching": asyncio.sleep(1000)}
    with ThreadPoolExecutor(1) as threads:
        listening = listen("127.0.0.1:0", None, None)
        calls = serve(app, listening, lambda: None, lambda: None, background, threads)
        failed = asyncio.run(calls)
    assert failed == "writing data sets has failed: OverflowError('too large')"


def settings_of(directory: Path, **changes: object) -> Settings:
    given = {"output": str(directory / "out"), "token_file": str(directory / "state/token")}
    return Settings(**{"listen": "127.0.0.1:0"} | given | changes)


def test_the_collector_then_ends_with_a_status_and_keeps_its_journal(tmp_path, monkeypatch):
    async def fails(_: Store) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(process, "_end_segments", fails)
    before = Store(tmp_path / "out", 600, is_relay=True)
    before.add(FakeNode("a").read())
    before.close()
    settings = settings_of(tmp_path)
    with pytest.raises(SesameError, match="writing data sets has failed: OverflowError") as raised:
        collect(settings, lambda: settings)
    assert raised.value.exit_status == 1


def test_settings_are_read_again_and_others_need_a_restart(tmp_path, capsys):
    settings = settings_of(tmp_path)
    found: list[Settings | Exception] = [
        settings_of(tmp_path, keep="1d", segment=3.0, listen="127.0.0.1:1"),
        InputError("keep: 3: expected a time with a unit"),
    ]

    def read() -> Settings:
        one = found.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    collector = Collector(settings, read)
    collector.reload()
    assert collector.store.keeping.seconds == 86_400
    assert collector.store.segment_seconds == 180
    assert "settings: read again; after a restart: listen" in capsys.readouterr().err
    collector.reload()
    assert "settings stay as they were: keep: 3" in capsys.readouterr().err
    assert collector.store.keeping.seconds == 86_400
    collector.listening.socket.close()
    collector.close()
