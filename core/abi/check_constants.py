"""Compares our constants with those of real MPI headers, by compiling a small program with them.

usage: check_constants.py SOURCE_DIRECTORY mpich|mpiabi|openmpi HEADER...

mpich compares core/mpi/objects/constants.h and tools.h with MPICH's mpi.h, mpiabi compares
core/abi/mpiabi_constants.def with mpi_abi.h, openmpi core/abi/openmpi_constants.def and
openmpi_handles.def with Open MPI's mpi.h and its files for Fortran; all compare types, and see that
no constant of the header is forgotten. Headers that are not there are passed over; without any the
check is skipped (exit status 77).
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Constants of the headers that have no counterpart here.
NOT_NEEDED = {
    r"MPI_(C_COMPLEX|LONG_LONG|C_FLOAT_COMPLEX)": "two names of one type",
    r"MPI_2(DOUBLE_)?COMPLEX": "of Open MPI, in no version of the standard",
    r"MPI_(SUB)?VERSION|MPI_ABI_(SUB)?VERSION": "of MPI_Get_version and MPI_Abi_get_version",
    r"MPI_F_.*|MPI_MAX_.*|MPI_BSEND_OVERHEAD|MPI_ARGVS?_NULL|MPI_ERRCODES_IGNORE":
        "of the program's side only; generate_entries.py cuts strings of ours that may be longer",
    r"MPI_(BOTTOM|IN_PLACE|BUFFER_AUTOMATIC|STATUS(ES)?_IGNORE|UNWEIGHTED|WEIGHTS_EMPTY)":
        "addresses; compared below",
    r"MPI_FILE_NULL|MPI_ERR_LASTCODE": "compared below",
    r"MPI_\w*(_FN|_FN_NULL|_FN_NULL_C)": "functions",
    r"MPI_T_(?!ERR).*": "of MPI_T, where we have no variables",
    r"MPI_DISPLACEMENT_CURRENT": "compared below",
    r"MPI_ERR_(PROC_FAILED(_PENDING)?|REVOKED)": "of failures, which no process has here",
    r"MPI_INFO_KEY_SESSION_PSET_SIZE": "a text of the standard, mpi_size",
    r"MPI_(Aint|Count|Offset|Fint|.*[a-z].*)": "types",
    r"MPI_AINT_FMT_.*|MPI_FILE_DEFINED|MPI_INCLUDED|MPI_H_ABI": "of the header itself",
}  # fmt: skip

# What programs and we agree on besides: C expressions and their values.
COMMON = {
    "sizeof(MPI_Aint)": 8, "sizeof(MPI_Count)": 8, "sizeof(MPI_Offset)": 8,
}  # fmt: skip
EXPECTED = {
    "mpich": COMMON | {
        "sizeof(MPI_Status)": 20, "sizeof(MPI_Comm)": 4, "sizeof(MPI_Session)": 4,
        "sizeof(MPI_File)": 8, "offsetof(MPI_Status, count_lo)": 0,
        "offsetof(MPI_Status, count_hi_and_cancelled)": 4, "offsetof(MPI_Status, MPI_SOURCE)": 8,
        "offsetof(MPI_Status, MPI_TAG)": 12, "offsetof(MPI_Status, MPI_ERROR)": 16,
        "MPI_STATUS_IGNORE": 1, "MPI_STATUSES_IGNORE": 1, "MPI_IN_PLACE": -1, "MPI_BOTTOM": 0,
        "MPI_FILE_NULL": 0, "MPI_ERRCODES_IGNORE": 0, "MPI_ARGV_NULL": 0, "MPI_NULL_COPY_FN": 0,
        "MPI_COMM_NULL_DELETE_FN": 0,
    },
    "mpiabi": COMMON | {
        "sizeof(MPI_Status)": 32, "sizeof(MPI_Comm)": 8, "sizeof(MPI_Session)": 8,
        "sizeof(MPI_File)": 8, "offsetof(MPI_Status, MPI_SOURCE)": 0,
        "offsetof(MPI_Status, MPI_TAG)": 4, "offsetof(MPI_Status, MPI_ERROR)": 8,
        "MPI_STATUS_IGNORE": 0, "MPI_STATUSES_IGNORE": 0, "MPI_IN_PLACE": 1,
        "MPI_BUFFER_AUTOMATIC": 2, "MPI_BOTTOM": 0, "MPI_UNWEIGHTED": 10, "MPI_WEIGHTS_EMPTY": 11,
        "MPI_FILE_NULL": 0x118, "MPI_ERR_LASTCODE": 0x3FFF, "MPI_NULL_COPY_FN": 0, "MPI_DUP_FN": 1,
        "MPI_COMM_DUP_FN": 1, "MPI_T_PVAR_ALL_HANDLES": 1,
    },
    "openmpi": COMMON | {
        "sizeof(MPI_Status)": 24, "sizeof(MPI_Comm)": 8, "sizeof(MPI_File)": 8,
        "offsetof(MPI_Status, MPI_SOURCE)": 0, "offsetof(MPI_Status, MPI_TAG)": 4,
        "offsetof(MPI_Status, MPI_ERROR)": 8, "offsetof(MPI_Status, _cancelled)": 12,
        "offsetof(MPI_Status, _ucount)": 16, "MPI_STATUS_IGNORE": 0, "MPI_STATUSES_IGNORE": 0,
        "MPI_IN_PLACE": 1, "MPI_BOTTOM": 0, "MPI_UNWEIGHTED": 2, "MPI_WEIGHTS_EMPTY": 3,
        "MPI_ERR_LASTCODE": 92,
        # STRING_LIMITS of generate_entries.py; the others are not below ours.
        "MPI_MAX_ERROR_STRING": 256, "MPI_MAX_OBJECT_NAME": 64, "MPI_MAX_INFO_KEY": 36,
        "MPI_MAX_PROCESSOR_NAME": 256, "MPI_MAX_LIBRARY_VERSION_STRING": 256,
        "MPI_MAX_PORT_NAME": 1024, "MPI_MAX_DATAREP_STRING": 128,
    },
}  # fmt: skip
# What MPICH calls a type that it was built without.
MPICH_NO_TYPE = 0x0C000000


def is_not_needed(name):
    return any(re.fullmatch(pattern, name) for pattern in NOT_NEEDED)


def our_constants(root, interface):
    if interface != "mpich":
        text = (root / f"core/abi/{interface}_constants.def").read_text()
        rows = re.findall(r"^SESAME_ABI_CONSTANT\((\w+), (MPI\w+), ([-\w]+)\)", text, re.M)
        return {name: int(value, 0) for _, name, value in rows}
    constants = {}
    for header in ("objects/constants.h", "calls/tools.h"):
        text = (root / "core/mpi" / header).read_text()
        pattern = r"constexpr \w+ (MPI\w*) = (?:static_cast<int>\()?(-?\w+)\)?;"
        for name, value in re.findall(pattern, text):
            constants[name] = int(value, 0)
    return constants


def our_handles(root):
    """The variables that Open MPI's predefined handles are addresses of, by the handles' names."""
    text = (root / "core/abi/openmpi_handles.def").read_text()
    rows = re.findall(r"^SESAME_OPENMPI_HANDLE\(\w+, (\w+), (\w+),", text, re.M)
    return dict(rows) | {"MPI_FILE_NULL": "ompi_mpi_file_null"}


def handles_of(header, names):
    """The same from the header: what each name expands to."""
    lines = [f'#include "{header}"', *(f"sesame_handle {name} {name}_" for name in sorted(names))]
    text = subprocess.run(
        ["cc", "-E", "-P", f"-I{Path(header).parent}", "-xc", "-"],
        input="\n".join(lines), check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return {
        name.removesuffix("_"): variable
        for variable, name in re.findall(
            r"sesame_handle.*?&\s*\(?(ompi_\w+).*?(MPI_\w+_)$", text, re.MULTILINE
        )
    }


def wrong_handles(root, header):
    """A sentence for each handle of the header that ours lack or have elsewhere."""
    ours, theirs = our_handles(root), handles_of(header, header_names(header))
    return [
        f"{name}: ours {ours.get(name)}, the header's {variable}"
        for name, variable in theirs.items()
        if ours.get(name) != variable and variable not in ours.values() and not is_not_needed(name)
    ]


def wrong_in_fortran(root, header):
    """A sentence for each constant of Open MPI's files for Fortran that is another one here."""
    handles = (root / "core/abi/openmpi_handles.def").read_text()
    rows = re.findall(r"^SESAME_OPENMPI_HANDLE\(\w+, (\w+), \w+, (\d+)\)", handles, re.M)
    ours = our_constants(root, "openmpi") | {name: int(number) for name, number in rows}
    theirs = {
        name: int(value)
        for part in ("handles", "constants", "io-constants", "io-handles", "config")
        for name, value in re.findall(
            r"parameter \((MPI_\w+)=(-?\d+)\)", (header.parent / f"mpif-{part}.h").read_text()
        )
    }
    expected = {"MPI_STATUS_SIZE": 6, "MPI_SOURCE": 1, "MPI_TAG": 2, "MPI_ERROR": 3}
    ours |= expected | {"MPI_FILE_NULL": 0, "MPI_ERR_LASTCODE": 92}
    both = ours.keys() & theirs.keys()
    print(f"{header.parent}/mpif-*.h: {len(both)} compared")
    wrong = [
        f"{name} in Fortran: ours {ours[name]}, Open MPI's {theirs[name]}"
        for name in sorted(both)
        if ours[name] != theirs[name]
    ]
    return wrong if len(both) > 200 else [*wrong, "most constants were not found"]


def header_names(header):
    """Names of the header that are constants or look like it."""
    text = re.sub(r"/\*.*?\*/", "", Path(header).read_text(), flags=re.S)
    names = re.findall(r"^#define\s+(MPI_\w+)\s+\S", text, re.M)
    names += re.findall(r"^\s*(MPI_\w+)\s*=", text, re.M)
    return set(names)


def evaluate(header, expressions):
    """The values of C expressions under the header; those that it does not know are left out."""
    header = Path(header)
    lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <stdio.h>",
             f'#include "{header}"', "int main(void) {"]  # fmt: skip
    known = header_names(header) | set(re.findall(r"\bMPI\w*\b", header.read_text()))
    for expression in expressions:
        if all(name in known for name in re.findall(r"\bMPI\w*\b", expression)):
            lines.append(f'  printf("%s=%lld\\n", "{expression}", (long long)({expression}));')
    lines += ["  return 0;", "}"]
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory) / "program.c", Path(directory) / "program"
        source.write_text("\n".join(lines))
        subprocess.run(["cc", "-w", f"-I{header.parent}", source, "-o", program], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {k: int(v) for k, v in (line.rsplit("=", 1) for line in output.splitlines())}


def same(ours, theirs):
    """Equal as 32-bit integers, or a type that this MPICH lacks."""
    return (ours - theirs) % 2**32 == 0 or theirs == MPICH_NO_TYPE


def check(root, interface, header):
    expected = our_constants(root, interface) | EXPECTED[interface]
    actual = evaluate(header, expected)
    wrong = [
        f"{name}: ours {expected[name]:#x}, the header's {actual[name]:#x}"
        for name in actual
        if not same(expected[name], actual[name])
    ]
    handles = {}
    if interface == "openmpi":
        wrong += wrong_handles(root, header) + wrong_in_fortran(root, Path(header))
        handles = handles_of(header, header_names(header)) | our_handles(root)
    forgotten = sorted(
        name
        for name in header_names(header)
        if name not in expected and name not in handles and not is_not_needed(name)
    )
    absent = sorted(set(expected) - set(actual))
    print(f"{header}: {len(actual)} compared, {len(wrong)} differ, {len(forgotten)} forgotten,",
          f"{len(absent)} not in this header: {' '.join(absent)}")  # fmt: skip
    for line in wrong + [f"{name}: not among ours" for name in forgotten]:
        print("  " + line)
    return not wrong and not forgotten and len(actual) + len(handles) > 200


def main():
    if len(sys.argv) < 4 or sys.argv[2] not in EXPECTED:
        sys.exit(__doc__)
    headers = [header for header in sys.argv[3:] if Path(header).exists()]
    if not headers:
        print("none of the headers is here:", *sys.argv[3:])
        sys.exit(77)
    results = [check(Path(sys.argv[1]), sys.argv[2], header) for header in headers]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
