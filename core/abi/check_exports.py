"""Checks that an executable of ours exports what MPI libraries of its interface export.

usage: check_exports.py EXECUTABLE LIBRARY...

A symbol that we leave out is in LEFT_OUT with the reason. Of Open MPI also checks the variables that
predefined handles are addresses of: programs hold copies of them, of the library's size, so ours must
not be smaller. Libraries that are not there are passed
over; without any the check is skipped (exit status 77).
"""

import re
import subprocess
import sys
from pathlib import Path

LEFT_OUT = {
    r"P?QMPI_.*": "MPICH's experimental interface for several tools at once",
    r"MPIR_Err_.*": "MPICH's own error reporting, for its I/O library inside the same file",
    r"MPII_Version_.*": "texts for the command mpichversion",
    r"MPIR_F08_.*": "their addresses are what matters, and each rank's Fortran layer has its own",
    r"MPIR_fortran_(true|false)": "of the C library's own conversions",
}
LEFT_OUT_OF_STANDARD = {
    r"MPII_.*": "for MPICH's Fortran layer, which does not stand on the standard interface",
}
LEFT_OUT_OF_OPEN_MPI = {
    r"P?MPI_(AINT_ADD|AINT_DIFF|WTICK|WTIME)_F90": "called by modules of older versions only",
    r"MPI_F(08)?_STATUS(ES)?_IGNORE": "C programs that pass Fortran's ignored statuses are not known",
    r"P?MPI_Session_set_info": "of Open MPI 5, in no version of the standard",
    r"(?i)(o|p)?MPIX_COMM_(ACK_FAILED|I?AGREE|FAILURE_ACK|FAILURE_GET_ACKED|GET_FAILED|IS_REVOKED|"
    r"REVOKE|SHRINK)(_|__|_F|_F08)?": "of Open MPI 5, to survive failures: no process fails here",
    r"MPIR_.*": "for debuggers that attach to Open MPI",
    r"ompi_intercept_extra_state_t_class": "inside of libmpi_mpifh.so.40",
    r"mpiext_\w+_dummy": "inside of libmpi_mpifh.so.40",
    r"ompi_mpi_2(dbl)?cplex": "MPI_2COMPLEX and MPI_2DOUBLE_COMPLEX, in no standard since MPI-1",
    r"ompi_mpi_(c_complex|ldblcplex|unavailable)": "no constant of mpi.h",
    r"ompi_mpi_(c_short_float_complex|cxx_sfltcplex|short_float)": "MPIX_SHORT_FLOAT and the like: of "
    "mpi-ext.h of Open MPI 5, in no version of the standard",
}


# The smallest of Open MPI's objects of predefined handles; its other variables have 120 bytes at most.
HANDLE_BYTES = 256


def exported(path):
    """By symbol, with its version if it has one: the size of a variable, 0 of a function."""
    output = subprocess.run(
        ["nm", "-D", "-S", "--defined-only", path], check=True, capture_output=True, text=True
    ).stdout
    lines = [line.split() for line in output.splitlines()]
    return {words[-1]: int(words[1], 16) if words[-2] in "BDRV" else 0 for words in lines}


def is_of_mpi(symbol, library, size):
    if "libmpi_mpifh.so" in library or (symbol.startswith("ompi_mpi_") and size >= HANDLE_BYTES):
        return True
    return re.match(r"P?Q?MPI[XIR]?_|MPII_|mpi_fortran_", symbol) is not None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    ours = {symbol.split("@")[0]: size for symbol, size in exported(sys.argv[1]).items()}
    libraries = [path for path in sys.argv[2:] if Path(path).exists()]
    if not libraries:
        print("none of the libraries is here:", *sys.argv[2:])
        sys.exit(77)
    failed = False
    for library in libraries:
        sizes = exported(library)
        theirs = {symbol for symbol, size in sizes.items() if is_of_mpi(symbol, library, size)}
        versions = sorted({symbol for symbol in theirs if "@" in symbol})
        patterns = [*LEFT_OUT, *(LEFT_OUT_OF_STANDARD if "abi" in Path(library).name else ())]
        patterns += LEFT_OUT_OF_OPEN_MPI if "so.40" in library else ()
        left_out = {s for s in theirs if any(re.fullmatch(p, s) for p in patterns)}
        missing = sorted(theirs - ours.keys() - left_out)
        small = sorted(
            symbol for symbol in theirs & ours.keys()
            if symbol.startswith("ompi_mpi_") and ours[symbol] < sizes[symbol]
        )  # fmt: skip
        print(f"{library}: {len(theirs)} symbols, {len(theirs & ours.keys())} exported by us,",
              f"{len(left_out - ours.keys())} left out, {len(missing)} missing")  # fmt: skip
        for what, symbols in (
            ("missing", missing), ("smaller than theirs", small), ("with a version", versions)
        ):  # fmt: skip
            for symbol in symbols:
                print(f"  {what}: {symbol}")
        failed = failed or bool(missing or small or versions) or len(theirs) < 800
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
