"""Finds the program in a recorded command, which may begin with a launcher."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

# Programs that start MPI programs; tracer/process.c does not record them. Where several MPIs are
# installed, their names have a suffix: mpiexec.hydra, mpirun_rsh, mpirun-openmpi.
LAUNCHERS = {"mpiexec", "mpirun", "orterun", "prterun", "prun", "srun", "aprun", "jsrun", "ibrun"}
SUFFIXES = "hydra|gforker|rsh|lsf|slurm|mpich|mpich2|mvapich2?|openmpi|ompi|intel|lam"
_LAUNCHER = re.compile(f"({'|'.join(sorted(LAUNCHERS))})([._-]({SUFFIXES})[.0-9]*)?")


def is_launcher(command: Sequence[str]) -> bool:
    """Whether a command starts MPI programs: `mpiexec`, `/usr/bin/mpirun.openmpi`, …"""
    return bool(command) and _LAUNCHER.fullmatch(Path(command[0]).name) is not None


def program_of(command: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The program of a command and its arguments, without the launcher (mpiexec, srun) in front
    and its options."""
    words = list(command)
    if not words:
        return "", ()
    if is_launcher(words):
        words = _after_launcher(words[1:])
    return (words[0], tuple(words[1:])) if words else ("", ())


def _after_launcher(words: list[str]) -> list[str]:
    """The words from the program on: the first word that is neither an option nor, unless it has a
    slash, possibly an option's value; or all after `--`."""
    for i, word in enumerate(words):
        if word == "--":
            return words[i + 1 :]
        of_option = i > 0 and words[i - 1].startswith("-") and "=" not in words[i - 1]
        if not word.startswith("-") and ("/" in word or not of_option):
            return words[i:]
    return []
