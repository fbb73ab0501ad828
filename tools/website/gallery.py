"""The gallery: pages that Sesame writes, made by the build from small real runs.

`make()` runs the commands and leaves the pages, with a picture of each, in build/gallery. `page()`,
`picture_in()` and `files()` give what is there to the site: a page with all, and one picture in
each tutorial. What cannot be made on this machine (no root, no MPI, no Chromium) is left out, and
the page says so.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import ViewportSize, sync_playwright
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build/gallery"
RUNS = OUTPUT / "runs"
SIZE: ViewportSize = {"width": 1400, "height": 900}
TIMEOUT_S = 180
COLUMNS = 100  # of a terminal
# Charts draw themselves when they come into view.
DRAWN = """() => [...document.querySelectorAll("figure.chart:has(script)")].every((chart) => {
  const place = chart.getBoundingClientRect();
  return place.top >= innerHeight || place.height === 0 || chart.querySelector("canvas");
})"""


@dataclass(frozen=True)
class Entry:
    """The commands that a reader would type. The last writes the page NAME.html; where it writes
    none, its output in the terminal is the picture."""

    name: str
    title: str
    text: str
    commands: tuple[str, ...]
    tutorial: str = ""  # the page of docs/ that has the picture, too
    in_terminal: bool = False


ENTRIES = (
    Entry(
        "prediction",
        "A prediction",
        "The time line of every rank, where the time went, who talks to whom. The program is "
        "`examples/heat.c`.",
        ("sesame simulate -n 16 --machine infiniband --report prediction.html -- ./heat 512 100",),
        tutorial="tutorial-simulate.md",
    ),
    Entry(
        "scaling",
        "A series over numbers of ranks",
        "Predicted time, speed-up and efficiency.",
        (
            "sesame simulate -n 1,2,4,8,16,32,64 --machine infiniband --report scaling.html "
            "-- ./heat 512 100",
        ),
    ),
    Entry(
        "what-would-help",
        "What would help",
        "How much of the predicted time each key of the machine causes, and the critical path.",
        (
            "sesame simulate -n 16 --machine sp2 --compute fixed:5us --sensitivity "
            "--report what-would-help.html -- ./heat 64 200",
        ),
        tutorial="tutorial-whatif.md",
    ),
    Entry(
        "comparison",
        "Two machines compared",
        "Computation is measured once and used for both, so that the machines alone make the "
        "difference.",
        (
            "sesame simulate -n 16 --machine infiniband --placement cyclic -o infiniband.sesame "
            "-- ./heat 512 100",
            "sesame simulate -n 16 --machine ethernet --placement cyclic "
            "--compute recorded:infiniband.sesame -o ethernet.sesame -- ./heat 512 100",
            "sesame diff infiniband.sesame ethernet.sesame --report comparison.html",
        ),
        tutorial="tutorial-diff.md",
    ),
    Entry(
        "files",
        "Files on a modelled file system",
        "What the ranks write, what the servers and disks do, and what is worth changing. The "
        "program is `examples/checkpoint.c`, in which each rank writes one row at a time.",
        (
            "sesame simulate -n 16 --machine paragon --report files.html "
            "-- ./checkpoint checkpoint.dat 256 20 own",
        ),
        tutorial="tutorial-report.md",
    ),
    Entry(
        "traced",
        "A real run",
        "The same program under `mpiexec`, recorded: findings with their evidence, then files, "
        "sizes, messages and the time line.",
        (
            "sesame trace -o run.sesame -- mpiexec -n 4 ./checkpoint checkpoint.dat 256 20 own",
            "sesame report run.sesame traced.html",
        ),
        tutorial="tutorial-trace.md",
    ),
    Entry(
        "workload",
        "A workload",
        "A message benchmark that checks its answer and says what it found.",
        ("sesame bench run messages -n 2 --simulate infiniband --report workload.html",),
        tutorial="tutorial-bench.md",
    ),
    Entry(
        "kernel",
        "Inside the kernel",
        "Calls on files, page faults, block requests and scheduling while a command runs, counted "
        "by eBPF programs. It needs root.",
        (
            "sesame measure run -o kernel.sesame --interval 0.5 "
            "-- sh -c 'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=data bs=64k count=400 "
            "2>/dev/null; sleep 0.5; done'",
            "sesame report kernel.sesame kernel.html",
        ),
        tutorial="tutorial-measure.md",
    ),
    Entry(
        "machines",
        "A series over machines",
        "A curve and the speed-up for each machine, from Python.",
        (
            "python -c \"import sesame; sesame.series('./heat', ['512', '100'], "
            "machine=['infiniband', 'ethernet'], ranks=[1, 4, 16, 64]).report('machines.html')\"",
        ),
        tutorial="tutorial-python.md",
    ),
    Entry(
        "replayed",
        "A run whose I/O was repeated",
        "The accesses to files of a traced run, with their times on another file system.",
        (
            "sesame trace -o here.sesame -- mpiexec -n 4 ./checkpoint checkpoint.dat 256 20 own",
            "sesame replay here.sesame --map /=new -o there.sesame",
            "sesame report there.sesame replayed.html",
        ),
        tutorial="tutorial-replay.md",
    ),
    Entry(
        "characterized",
        "How a program uses its files",
        "Sizes, distances and locality of the accesses of a traced run.",
        (
            "sesame trace -o used.sesame -- mpiexec -n 4 ./checkpoint checkpoint.dat 256 20 own",
            "sesame characterize used.sesame --report characterized.html",
        ),
        tutorial="tutorial-characterize.md",
    ),
    Entry(
        "imported",
        "A trace of another tool",
        "Exported as SDDF, the format of the Pablo environment, and imported again.",
        (
            "sesame trace -o ours.sesame -- mpiexec -n 4 ./checkpoint checkpoint.dat 256 20 own",
            "sesame export ours.sesame --to sddf --file run.sddf",
            "sesame import run.sddf -o theirs.sesame",
            "sesame report theirs.sesame imported.html",
        ),
        tutorial="tutorial-exchange.md",
    ),
    Entry(
        "reproduced",
        "A published table, reproduced",
        "Our figures beside those of the report, and whether its findings are reproduced.",
        ("sesame reproduce table-8-3 --report reproduced.html",),
        tutorial="tutorial-reproduce.md",
    ),
    Entry(
        "evaluated",
        "A machine, judged by probes",
        "Two probes at intervals of seconds, in place of hours. The file that one of them compares "
        "is gone for some seconds: an incident.",
        (
            "cat >node.toml <<END\n"
            "[target.node]\n\n"
            "[probe.copy]\n"
            'target = "node"\n'
            'interval = "1s"\n'
            "availability = true\n\n"
            "[[probe.copy.step]]\n"
            'command = ["cmp", "$PWD/heat", "$PWD/copy"]\n'
            'timeout = "10s"\n\n'
            "[probe.disk]\n"
            'target = "node"\n'
            'interval = "1s"\n\n'
            "[[probe.disk.step]]\n"
            'command = ["dd", "if=/dev/zero", "of=data", "bs=1M", "count=8", "oflag=dsync"]\n'
            'timeout = "10s"\n'
            'numbers = [{ name = "time", pattern = \'copied, ([0-9.]+) s\', unit = "s" }]\n'
            "END",
            "cp heat copy; (sleep 12; mv copy gone; sleep 4; mv gone copy) & "
            "timeout --signal INT 30 sesame evaluate run node.toml --watch; test $? = 124",
            "sesame evaluate report node.toml --report evaluated.html",
        ),
        tutorial="tutorial-evaluate.md",
    ),
    Entry(
        "sweep",
        "What measuring would cost",
        "Paradyn's daemon on nodes with one to eight processes, for both of its policies.",
        (
            "sesame overhead sweep paradyn processes=1..8 --by policy -r 5 --seconds 10 "
            "--report sweep.html",
        ),
        tutorial="tutorial-overhead.md",
    ),
    Entry(
        "checked",
        "A performance test that fails",
        "The program on the machine of the baseline, and on one with ten times the latency.",
        (
            "sesame check --baseline heat.sesame --update -n 16 --machine infiniband "
            "-- ./heat 512 100",
            "! sesame check --baseline heat.sesame --set network.latency=20us",
        ),
        tutorial="tutorial-check.md",
        in_terminal=True,
    ),
    Entry(
        "accuracy",
        "The errors of earlier predictions",
        "A predicted run beside a real one.",
        (
            "export XDG_DATA_HOME=$PWD/accuracy; sesame simulate -n 2 --machine infiniband "
            "-o predicted.sesame -- ./heat 256 20",
            "export XDG_DATA_HOME=$PWD/accuracy; sesame trace -o real.sesame "
            "-- mpiexec -n 2 ./heat 256 20",
            "export XDG_DATA_HOME=$PWD/accuracy; sesame accuracy add predicted.sesame real.sesame "
            "&& sesame accuracy list",
        ),
        tutorial="tutorial-accuracy.md",
        in_terminal=True,
    ),
    Entry(
        "daemon",
        "What a daemon has counted",
        "A node's daemon, read by the command line. It needs root.",
        (
            "d=$(mktemp -d); sesame measure daemon --level summary --state-directory $d "
            "--listen 127.0.0.1:7199 >$d/log 2>&1 & trap 'kill $!' EXIT; "
            "until grep -q 'token in' $d/log; do kill -0 $! || exit 1; sleep 0.2; done; "
            "sesame measure read --nodes 127.0.0.1:7199 --token-file $d/token | head -40",
        ),
        tutorial="tutorial-daemon.md",
        in_terminal=True,
    ),
    Entry(
        "collector",
        "What a collector says of itself",
        "A relay's and a daemon's readings arrive; `/metrics` shows them to Prometheus.",
        (
            "d=$(mktemp -d); sesame collect -o $d/measured --listen 127.0.0.1:7198 "
            "--token-file $d/token >$d/log 2>&1 & trap 'kill $!' EXIT; "
            "until grep -q 'token in' $d/log; do kill -0 $! || exit 1; sleep 0.2; done; "
            'curl -s -H "Authorization: Bearer $(cat $d/token)" http://127.0.0.1:7198/metrics '
            "| grep -v '^#'",
        ),
        tutorial="tutorial-thousand-nodes.md",
        in_terminal=True,
    ),
)


def make() -> None:
    """Runs the commands of all entries and draws the pictures; says what could not be made."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    RUNS.mkdir(parents=True)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for program in ("heat", "checkpoint"):
        source = ROOT / f"examples/{program}.c"
        _run(f"{_compiler()} -O2 -o {program} {source} -lm", environment)
    for entry in ENTRIES:
        outputs = [_run(command, environment) for command in entry.commands]
        if None in outputs:
            continue
        if entry.in_terminal:
            _draw_terminal(str(outputs[-1]), OUTPUT / f"{entry.name}.svg")
        else:
            shutil.move(RUNS / f"{entry.name}.html", OUTPUT)
            _draw(OUTPUT / f"{entry.name}.html")


def page() -> str:
    """The page `gallery.md`."""
    parts = [
        "# Gallery\n\nPages that Sesame writes. `make docs` makes them on the machine that builds "
        "this site: each is one file that needs no network."
    ]
    for entry in ENTRIES:
        commands = "\n".join(entry.commands)
        parts.append(f"## {entry.title}\n\n{entry.text}\n\n```text\n{commands}\n```")
        parts.append(_shown(entry) or "*This build of the documentation did not make the page.*")
    return "\n\n".join(parts) + "\n"


def picture_in(tutorial: str) -> str:
    """The picture for a page of docs/, with the commands that made it; empty if there is none."""
    parts = []
    for entry in ENTRIES:
        if entry.tutorial == tutorial and (shown := _shown(entry)):
            commands = "\n".join(entry.commands)
            parts.append(f"## {entry.title}\n\n{entry.text}\n\n```text\n{commands}\n```\n\n{shown}")
    return "\n\n".join(parts)


def _shown(entry: Entry) -> str:
    """The picture, and a link to the page; as much of it as there is."""
    name = f"gallery/{entry.name}"
    if entry.in_terminal:
        has_picture = (OUTPUT / f"{entry.name}.svg").exists()
        return f"![{entry.title}]({name}.svg)" if has_picture else ""
    if not (OUTPUT / f"{entry.name}.html").exists():
        return ""
    if not (OUTPUT / f"{entry.name}.png").exists():
        return f"[Open the page]({name}.html). This build had no Chromium for a picture."
    return f"[![{entry.title}]({name}.png)]({name}.html)\n\n[Open the page]({name}.html)"


def files() -> dict[str, Path]:
    """Pages and pictures by their path in the site."""
    kinds = ("html", "png", "svg")
    made = sorted(file for kind in kinds for file in OUTPUT.glob(f"*.{kind}"))
    return {f"gallery/{path.name}": path for path in made}


def _compiler() -> str:
    """The first mpicc with MPICH's interface; the one of the Python environment is preferred, so
    that mpiexec is of the same MPI."""
    own = Path(sys.executable).parent / "mpicc"
    return str(own) if own.exists() else shutil.which("mpicc.mpich") or "mpicc"


def _run(command: str, environment: dict[str, str]) -> str | None:
    """What the command prints, as in a terminal; None if it fails."""
    print(f"gallery: {command}", file=sys.stderr)
    try:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=RUNS,
            env=environment | {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"gallery: not finished after {TIMEOUT_S} s", file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f"gallery: status {done.returncode}: {done.stdout.strip()[-300:]}", file=sys.stderr)
        return None
    return done.stdout


def _draw_terminal(output: str, picture: Path) -> None:
    """The output in its colours. The fonts are the reader's: nothing is loaded from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(output.rstrip()))
    drawn = console.export_svg(title="", theme=DIMMED_MONOKAI)
    picture.write_text(re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL))


def _draw(html: Path) -> None:
    """What a reader sees first, once its charts are drawn."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=sandbox)
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.goto(html.as_uri())
            page.wait_for_function(DRAWN, timeout=TIMEOUT_S * 1000)
            page.screenshot(path=html.with_suffix(".png"))
            browser.close()
    except PlaywrightError as error:
        print(f"gallery: no picture of {html.name}: {error}", file=sys.stderr)
