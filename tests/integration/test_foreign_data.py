"""Files of other tools, sent to `sesame serve` by `sesame push` and looked at on their home pages:
what was recorded, by what, each record type with its page.

Darshan's logs were made by real jobs, the CTF traces are made here by perf and LTTng. OTF2's own
library writes the archive; the block trace and the SDDF file are made from the formats'
descriptions, and other tools read the same (`test_exchange_*.py`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.browser import SIZES, axe_script, faults, new_page
from tests.command_line import SESAME
from tests.python.block_traces import random_requests, write_blktrace
from tests.python.test_exchange_otf2 import traced
from tests.python.test_exchange_sddf import binary
from tests.served_repository import ServedRepository

from sesame.exchange import export_data_set

SECONDS = 120


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[ServedRepository]:
    """Lets in all as its local user, an administrator."""
    made = ServedRepository(tmp_path_factory.mktemp("served"))
    yield made
    made.close()


def darshan(directory: Path) -> Path:
    package = Path(importlib.util.find_spec("darshan").submodule_search_locations[0])
    [log] = package.rglob("dxt.darshan")
    return Path(shutil.copy(log, directory / "job.darshan"))


def otf2(directory: Path) -> Path:
    export_data_set(traced(directory / "run.sesame"), "otf2", directory / "archive")
    return directory / "archive"


def blktrace(directory: Path) -> Path:
    (directory / "trace").mkdir()
    write_blktrace(directory / "trace", random_requests(200), 2)
    return directory / "trace"


def sddf(directory: Path) -> Path:
    (directory / "sort.sddf").write_bytes(binary(">"))
    return directory / "sort.sddf"


def perf(directory: Path) -> Path:
    program = shutil.which("perf")
    if program is None:
        pytest.skip("perf is not installed: apt-get install linux-perf")
    record = [program, "record", "-q", "-e", "cpu-clock", "-o", "perf.data", "--", "sh", "-c"]
    count = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    done = subprocess.run([*record, count], cwd=directory, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"perf may not record here: {done.stderr[:200]}")
    convert = [program, "data", "convert", "-i", "perf.data", "--to-ctf", "events"]
    done = subprocess.run(convert, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this perf writes no CTF: {done.stderr[:200]}")
    return directory / "events"


WRAPPER = "liblttng-ust-libc-wrapper.so.1"


def lttng(directory: Path) -> Path:
    """The allocations of a program. The daemon is the test's own."""
    program = shutil.which("lttng")
    if program is None or not list(Path("/usr/lib").glob(f"**/{WRAPPER}")):
        pytest.skip("LTTng is not installed: apt-get install lttng-tools liblttng-ust1")
    environment = os.environ | {"HOME": str(directory), "LTTNG_HOME": str(directory)}

    def run(*command: str, **more: str) -> None:
        subprocess.run(command, env=environment | more, check=True, stdout=subprocess.DEVNULL)

    with subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=environment) as daemon:
        try:
            output = str(directory / "session")
            subprocess.run(
                ["timeout", "30", "sh", "-c", "until lttng list >/dev/null 2>&1; do :; done"],
                env=environment,
                check=True,
            )
            run(program, "create", "session", f"--output={output}")
            run(program, "enable-event", "-u", "-a")
            run(program, "add-context", "-u", "-t", "vpid", "-t", "procname")
            run(program, "start")
            run("ls", "/usr/lib", LD_PRELOAD=WRAPPER)
            run(program, "destroy")
        finally:
            daemon.terminate()
    return directory / "session"


def pushed(served: ServedRepository, path: Path) -> str:
    """Sends a file as a user does; returns the address of its page."""
    command = [*SESAME, "push", str(path), "--to", served.url, "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=os.environ | {"SESAME_TOKEN": "any"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["state"] == "done", answer
    return str(answer["address"])


CASES: dict[str, tuple[Callable[[Path], Path], str, set[str]]] = {
    "darshan": (darshan, "Darshan", {"file_total", "io", "process"}),
    "lttng": (lttng, "lttng-ust", {"lttng_ust_libc_malloc", "lttng_ust_libc_free"}),
    "otf2": (otf2, "OTF2", {"mpi", "io", "communicator"}),
    "blktrace": (blktrace, "blktrace", {"block_request"}),
    "sddf": (sddf, "SESAME", {"nx_send", "nx_recv"}),
    "perf": (perf, "perf", {"cpu_clock"}),
}


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("make", "tool", "types"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("sizes", [SIZES[:1], SIZES[1:]], ids=["wide", "narrow"])
def test_a_file_of_another_tool_has_a_home_page(
    make, tool, types, sizes, served, tmp_path, browser
):
    address = pushed(served, make(tmp_path))
    for width, scheme in sizes:
        size = {"width": width, "height": 900}
        page = new_page(browser, viewport=size, color_scheme=scheme)
        assert page.goto(served.url + address).status == 200
        facts = page.locator("section", has=page.get_by_role("heading", name="About"))
        assert tool.lower() in facts.inner_text().lower()
        listed = page.locator("a[href^='/records/']").all_inner_texts()
        assert types <= set(listed), listed
        page.problems += faults(page, axe_script())
        if directory := os.environ.get("SESAME_PICTURES"):
            name = f"home-{make.__name__}-{width}.png"
            page.screenshot(path=Path(directory) / name, full_page=True)
        for name in types:
            assert page.goto(f"{served.url}/records/{name}").status == 200
            assert f'href="{address}"' in page.content()
            page.problems += [f"{name}: {one}" for one in faults(page, axe_script())]
        assert page.goto(f"{served.url}{address}/info.txt").status == 200
        assert re.search(rf"^Record type: {min(types)}$", page.inner_text("pre"), re.M)
        page.close()
        assert page.problems == []
