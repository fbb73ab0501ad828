"""Frames a second of the play-back of 1,024 nodes in headless Chromium, in Chromium's own timing.

Serves a run of 1,024 ranks on a mesh of 16 by 64 nodes, opens its play-back, plays it so fast that
every frame shows another time, and counts the frames that Chromium's compositor drew (DrawFrame of
its trace) and dropped. Prints figures; never passes or fails. Needs /usr/bin/chromium.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypercorn.asyncio import serve
from hypercorn.config import Config
from playwright.sync_api import Page, sync_playwright
from sqlalchemy import true

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/python")]

from made_runs import write_run  # noqa: E402

from sesame.repository.app import make_app  # noqa: E402
from sesame.repository.local import add_found  # noqa: E402
from sesame.repository.playback.prepare import prepare  # noqa: E402
from sesame.repository.store import Repository  # noqa: E402

NODES, STEPS = 1024, 500
PLAYED_S = 10  # how long it plays
CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline.frame"]
PORT = 8397


@contextmanager
def served(directory: Path) -> Iterator[tuple[str, Repository]]:
    """A server of the data sets below `directory`, which anyone may read."""
    repository = Repository.in_directory(directory / "repository")
    add_found(repository, directory, print)
    reader = repository.local_reader()
    app = make_app(repository, recognisers=[lambda _: reader])
    config, stop = Config(), threading.Event()
    config.bind, config.loglevel = [f"127.0.0.1:{PORT}"], "WARNING"
    loop = asyncio.new_event_loop()

    async def run() -> None:
        ended = asyncio.Event()
        loop.run_in_executor(None, lambda: (stop.wait(), loop.call_soon_threadsafe(ended.set)))
        await serve(app, config, shutdown_trigger=ended.wait)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    try:
        yield f"http://127.0.0.1:{PORT}", repository
    finally:
        stop.set()
        thread.join()
        repository.close()


def play(page: Page, url: str, trace: Path) -> list[dict[str, Any]]:
    """The events of Chromium's trace while it plays."""
    page.goto(url)
    page.wait_for_selector("#playback[data-ready]")
    page.click("[data-part=play]")
    page.context.browser.start_tracing(page=page, path=trace, categories=CATEGORIES)  # type: ignore[union-attr]
    page.wait_for_timeout(1000 * PLAYED_S)
    page.context.browser.stop_tracing()  # type: ignore[union-attr]
    assert page.inner_text("[data-part=play]") == "Pause", "it ended too early"
    events: list[dict[str, Any]] = json.loads(trace.read_text())["traceEvents"]
    return events


def frames_of(events: list[dict[str, Any]]) -> tuple[list[float], int]:
    """Times (s) at which frames were drawn, and how many were dropped. A trace may hold events of
    other frames of the browser: those of the page's layer tree are the most."""
    by_tree: dict[Any, list[float]] = {}
    for event in events:
        if event["name"] == "DrawFrame":
            by_tree.setdefault(event["args"].get("layerTreeId"), []).append(event["ts"] * 1e-6)
    tree = max(by_tree, key=lambda one: len(by_tree[one]))
    dropped = sum(
        event["name"] == "DroppedFrame" and event["args"].get("layerTreeId") == tree
        for event in events
    )
    return sorted(by_tree[tree]), dropped


def report(name: str, events: list[dict[str, Any]]) -> None:
    drawn, dropped = frames_of(events)
    gaps = sorted(after - before for before, after in itertools.pairwise(drawn))
    rate = (len(drawn) - 1) / (drawn[-1] - drawn[0])
    script = [event["dur"] / 1e3 for event in events if event["name"] == "FireAnimationFrame"]
    print(
        f"{name:34} {rate:5.1f} frames/s; between frames median "
        f"{1e3 * statistics.median(gaps):.1f}, 95 % {1e3 * gaps[int(0.95 * len(gaps))]:.1f}, "
        f"longest {1e3 * gaps[-1]:.1f} ms; "
        f"{dropped} dropped; script {statistics.median(script):.2f} ms a frame"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        topology = 'kind = "mesh"\ndims = [16, 64]'
        run = write_run(directory / "run.sesame", NODES, topology, steps=STEPS, step_s=0.1)
        begin = time.perf_counter()
        prepare(run.path, directory / "prepared")
        took = time.perf_counter() - begin
        size = sum(file.stat().st_size for file in (directory / "prepared").iterdir())
        records = sum(one["rows"] for one in run.record_types.values())
        print(f"{NODES:,} nodes, {records:,} records prepared in {took:.2f} s: {size / 1e6:.1f} MB")
        with served(directory) as (host, repository), sync_playwright() as driver:
            with repository.connection() as connection:
                (thing,) = repository.things.find(connection, true())
            browser = driver.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox"]
            )
            for width, field in (
                (1400, "activity"),
                (1400, "compute"),
                (1400, "sent"),
                (390, "activity"),
            ):
                page = browser.new_page(viewport={"width": width, "height": 900})
                url = (
                    f"{host}{thing.address}/play?field={field}&speed={0.9 * STEPS * 0.1 / PLAYED_S}"
                )
                report(f"{width} pixels, coloured by {field}", play(page, url, directory / "trace"))
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
