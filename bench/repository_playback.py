"""Frames a second of the play-back of 1,024 nodes in headless Chromium, in Chromium's own timing.

Serves a run of 1,024 ranks on a mesh of 16 by 64 nodes, opens its play-back, plays it so fast that
every frame shows another time, and counts the frames that Chromium's compositor drew (DrawFrame of
its trace) and dropped. Prints figures; never passes or fails. Needs /usr/bin/chromium.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from sqlalchemy import true

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/python")]

from made_runs import write_run  # noqa: E402
from tests.served_repository import ServedRepository  # noqa: E402

from sesame.repository.playback.prepare import prepare  # noqa: E402

NODES, STEPS = 1024, 500
PLAYED_S = 10  # how long it plays
CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline.frame"]


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
    script = [
        event["dur"] / 1e3
        for event in events
        if event["name"] == "FireAnimationFrame" and "dur" in event
    ]
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
        served = ServedRepository(directory)
        with sync_playwright() as driver:
            with served.repository.connection() as connection:
                found = served.repository.things.find(connection, true())
            (thing,) = (one for one in found if one.library == "data")  # not its machine model
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
                speed = 0.9 * STEPS * 0.1 / PLAYED_S
                url = f"{served.url}{thing.address}/play?field={field}&speed={speed}"
                report(f"{width} pixels, coloured by {field}", play(page, url, directory / "trace"))
                page.close()
            browser.close()
        served.close()


if __name__ == "__main__":
    main()
