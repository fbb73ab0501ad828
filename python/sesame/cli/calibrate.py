"""`sesame machine calibrate`"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from sesame import native
from sesame.analysis.calibration import Calibration, ComputeFit, fit_network, machine_text
from sesame.analysis.findings.messages import analyse
from sesame.analysis.storage_fit import fit_storage, storage_sentences
from sesame.cli.simulate import check_file
from sesame.errors import InputError, OutputError, WorkloadError
from sesame.machines import find_machine
from sesame.simulation import Compute, Host, find_host
from sesame.simulation import simulate as run_simulation
from sesame.simulation.host import inspect_program
from sesame.workloads import (
    BenchRun,
    Built,
    Compiler,
    build_workload,
    find_compiler,
    find_workload,
    run_copies,
    run_here,
    run_simulated,
)
from sesame.workloads.storage_times import measure_storage

KERNELS = (("ep", ("--class", "S")), ("cg", ("--class", "W")), ("is", ("--class", "W")))
REPEAT = 5


@click.command()
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="The machine file to write.",
)
@click.option("--mpi", metavar="WRAPPER", help="The MPI compiler wrapper for C++ to build with.")
@click.option(
    "--ranks", default=2, type=click.IntRange(min=2), help="Ranks of the runs inside a node."
)
@click.option(
    "--hosts", default="", metavar="A,B,…", help="Hosts; with two or more, also between nodes."
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also measure storage in this directory: the file has a model of it.",
)
@click.option("--name", default="here", help="Of the machine, in the file.")
@click.option("--force", is_flag=True, help="Write over an existing file.")
def calibrate(output: Path, **options: Any) -> None:
    """Measure this machine and write a model of it.

    Messages inside a node, and between the first two of the hosts; the constants stand in the file
    with what they were fitted to. Takes a minute on a machine that does nothing else.

    \b
    sesame machine calibrate -o here.toml
    """
    hosts = [host for host in options["hosts"].split(",") if host]
    _check_output(output, force=options["force"])
    compiler = find_compiler(options["mpi"])
    console = Console(stderr=True, highlight=False)
    with console.status("measuring messages inside a node"):
        messages = build_workload(find_workload("messages"), compiler)
        inside = _messages(messages, options["ranks"], hosts[:1])
    between = None
    if len(hosts) > 1:
        with console.status(f"measuring messages between {hosts[0]} and {hosts[1]}"):
            between = _messages(messages, 2, hosts[:2])
    with console.status("measuring computation"):
        kernels = [_kernel(compiler, name, arguments) for name, arguments in KERNELS]
    storage = None
    if options["directory"] is not None:
        with console.status(f"measuring storage in {options['directory']}"):
            storage = fit_storage(measure_storage(options["directory"]))
    fit = fit_network(inside)
    text = machine_text(
        Calibration(
            name=options["name"],
            host=platform.node(),
            processor=_processor(),
            date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            cores=os.cpu_count() or 1,
            inside=fit,
            mpi=inside["parameters"]["mpi"],
            kernels=kernels,
            between=None if between is None else fit_network(between),
            hosts=hosts,
            storage=storage,
        )
    )
    _write(output, text)
    for sentence in analyse(inside).sentences:
        console.print(sentence, markup=False)
    if between is None:
        console.print("between nodes nothing was measured: one host")
    said = ["storage was not measured: --dir says where"]
    for sentence in said if storage is None else storage_sentences(storage):
        console.print(sentence, markup=False)
    console.print(f"machine file: {output}", soft_wrap=True, markup=False)


def _check_output(output: Path, *, force: bool) -> None:
    if output.suffix != ".toml":
        raise InputError(f"-o {output}: expected a name that ends with .toml")
    if output.exists() and not force:
        raise InputError(f"{output}: exists already", hint="--force writes over it")
    check_file(output)


def _write(output: Path, text: str) -> None:
    """Whole, and good as a machine file, or not at all."""
    draft = output.with_name(f".{output.stem}.part.toml")
    try:
        draft.write_text(text, encoding="utf-8")
        native.read_machine(str(draft))
        draft.replace(output)
    except OSError as error:
        raise OutputError(f"{output}: cannot write: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def _messages(built: Built, ranks: int, hosts: Sequence[str]) -> dict[str, Any]:
    where = [] if not hosts else ["-hosts", ",".join(hosts)]
    if len(hosts) > 1:
        where += ["-ppn", "1"]
    return _checked(run_here(built, ranks, [], quiet=True, mpiexec_options=where))


def _checked(run: BenchRun) -> dict[str, Any]:
    if run.exit_status != 0 or run.report["verified"] is False:
        raise WorkloadError(f"{run.report['workload']} did not verify its answer here")
    return run.report


def _kernel(compiler: Compiler, name: str, arguments: tuple[str, ...]) -> ComputeFit:
    """In turns, so that what disturbs the machine disturbs all alike."""
    built = build_workload(find_workload(name), compiler)
    alone, crowded, simulated = [], [], []
    for _ in range(REPEAT):
        alone.append(_checked(run_here(built, 1, arguments, quiet=True))["time_s"])
        copies = run_copies(built, os.cpu_count() or 1, arguments)
        crowded.append(statistics.mean(_checked(run)["time_s"] for run in copies))
        simulated.append(_checked(_simulated(built, arguments))["time_s"])
    medians = [statistics.median(times) for times in (alone, crowded, simulated)]
    return ComputeFit(f"{name} {arguments[-1]}", *medians)


def _simulated(built: Built, arguments: tuple[str, ...]) -> BenchRun:
    executable = find_host(inspect_program(str(built.program)))
    host = Host(executable, stdout=subprocess.DEVNULL)
    return run_simulated(
        built,
        1,
        arguments,
        machine=find_machine("infiniband"),  # any with a compute ratio of 1: one rank computes
        compute=Compute(),
        simulate=lambda scenario: run_simulation(scenario, host),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
