"""The gallery: pages that Sesame writes, made by the build from small real runs.

`make()` runs the commands and leaves the pages, with a picture of each, in build/gallery. `page()`
and `files()` give what is there to the site. What cannot be made on this machine (no root, no MPI,
no Chromium) is left out, and the page says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build/gallery"
RUNS = OUTPUT / "runs"
SIZE = "1400,900"
TIMEOUT_S = 180


@dataclass(frozen=True)
class Entry:
    """A page of Sesame: the commands that a reader would type; the last writes NAME.html."""

    name: str
    title: str
    text: str
    commands: tuple[str, ...]


ENTRIES = (
    Entry(
        "prediction",
        "A prediction",
        "The time line of every rank, where the time went, who talks to whom. The program is "
        "`examples/heat.c`.",
        ("sesame simulate -n 16 --machine infiniband --report prediction.html -- ./heat 512 100",),
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
        "comparison",
        "Two machines compared",
        "Computation is measured once and used for both, so that the machines alone make the "
        "difference.",
        (
            "sesame simulate -n 16 --machine infiniband -o infiniband.sesame -- ./heat 512 100",
            "sesame simulate -n 16 --machine ethernet --compute recorded:infiniband.sesame "
            "-o ethernet.sesame -- ./heat 512 100",
            "sesame diff infiniband.sesame ethernet.sesame --report comparison.html",
        ),
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
    ),
    Entry(
        "workload",
        "A workload",
        "A message benchmark that checks its answer and says what it found.",
        ("sesame bench run messages -n 2 --simulate infiniband --report workload.html",),
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
        if all(_run(command, environment) for command in entry.commands):
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
        name = f"gallery/{entry.name}"
        if not (OUTPUT / f"{entry.name}.html").exists():
            parts.append("*This build of the documentation did not make the page.*")
        elif not (OUTPUT / f"{entry.name}.png").exists():
            parts.append(f"[Open the page]({name}.html). This build had no Chromium for a picture.")
        else:
            parts.append(f"[![{entry.title}]({name}.png)]({name}.html)")
            parts.append(f"[Open the page]({name}.html)")
    return "\n\n".join(parts) + "\n"


def files() -> dict[str, Path]:
    """Pages and pictures by their path in the site."""
    made = sorted([*OUTPUT.glob("*.html"), *OUTPUT.glob("*.png")])
    return {f"gallery/{path.name}": path for path in made}


def _compiler() -> str:
    """The first mpicc with MPICH's interface; the one of the Python environment is preferred, so
    that mpiexec is of the same MPI."""
    own = Path(sys.executable).parent / "mpicc"
    return str(own) if own.exists() else shutil.which("mpicc.mpich") or "mpicc"


def _run(command: str, environment: dict[str, str]) -> bool:
    print(f"gallery: {command}", file=sys.stderr)
    try:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=RUNS,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"gallery: not finished after {TIMEOUT_S} s", file=sys.stderr)
        return False
    if done.returncode != 0:
        print(f"gallery: status {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return done.returncode == 0


def _draw(html: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return
    command = [chromium, "--headless", "--hide-scrollbars", f"--window-size={SIZE}"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    command += ["--virtual-time-budget=5000", f"--screenshot={html.with_suffix('.png')}"]
    subprocess.run([*command, html.as_uri()], capture_output=True, timeout=TIMEOUT_S, check=False)
