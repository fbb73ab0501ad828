"""Compares the arguments of our entry points with the prototypes of real MPI headers.

usage: check_prototypes.py TABLE HEADER...

Functions that are implemented must take and return the same types as the header's, handles aside,
which each header declares in its own way. Headers that are not there are passed over; without any
the check is skipped (exit status 77).
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mpi"))

from mpi_functions import KINDS, read_functions

PROTOTYPE = re.compile(r"(int|double|void ?\*|MPIX?_\w+) (MPIX?_\w+)\(([^()]*)\) ?;")


def read_prototypes(header):
    """Function name: (type returned, types of the arguments)."""
    text = re.sub(r"/\*.*?\*/", " ", Path(header).read_text(), flags=re.S)
    text = re.sub(r"MPICH_ATTR_\w+\([^)]*\)|MPICH_API_PUBLIC", " ", text)
    text = re.sub(r"\s+", " ", text)
    prototypes = {}
    for match in PROTOTYPE.finditer(text):
        arguments = [] if match[3].strip() in ("", "void") else match[3].split(",")
        prototypes[match[2]] = (spell(match[1]), [spell(drop_name(a)) for a in arguments])
    return prototypes


def drop_name(argument):
    """'const int a[]' becomes 'const int *'."""
    argument = argument.strip()
    if argument == "...":
        return argument
    match = re.fullmatch(r"(.*?)\b\w+((?: ?\[\d*\])*)", argument)
    if "[3]" in match[2]:
        return match[1] + "(*)[3]"
    return match[1] + "*" * match[2].count("[")


def spell(type_):
    """One spelling for a type; functions of the program are all alike."""
    type_ = re.sub(r"\bMPI_(?=[A-Z])", "", re.sub(r"\s+", " ", type_)).strip()
    if re.search(r"function|Function|_fn\b", type_):
        return "Function"
    if re.match(r"T_(enum|cvar_handle|pvar_handle|pvar_session|event_\w+)\b", type_):
        type_ = re.sub(r"T_\w+", "void*", type_)
    type_ = re.sub(r"T_cb_safety|T_source_order|Fint|F08_status", "int", type_)
    return type_.replace(" *", "*").replace("* ", "*").replace("{}", "").replace(" (", "(")


def our_types(function, large):
    types = []
    for parameter in function.parameters:
        kind = KINDS[parameter.kind]
        types.append(spell(kind.large if large else kind.c))
    return types + ["..."] * function.variadic


def differs(ours, theirs):
    """const is of no consequence to a call; neither is what a plain address points to."""
    ours, theirs = ours.removeprefix("const "), theirs.removeprefix("const ")
    if ours == theirs:
        return False
    return not (ours == "void*" and theirs.endswith("*"))


def check(functions, header):
    prototypes = read_prototypes(header)
    compared, wrong = 0, []
    for function in functions:
        for large in [False, True][: 1 + function.large]:
            name = function.symbol + "_c" * large
            if function.state == "later" or name not in prototypes:
                continue
            returned, theirs = prototypes[name]
            ours = our_types(function, large)
            returns = KINDS[function.returns].c if function.returns else "int"
            compared += 1
            if len(ours) != len(theirs) or any(map(differs, [returns, *ours], [returned, *theirs])):
                wrong.append(f"  {name}: ours {returns}{ours}, the header's {returned}{theirs}")
    print(f"{header}: {compared} compared, {len(wrong)} differ", *wrong, sep="\n")
    return not wrong and compared > 400


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    headers = [header for header in sys.argv[2:] if Path(header).exists()]
    if not headers:
        print("none of the headers is here:", *sys.argv[2:])
        sys.exit(77)
    functions = read_functions(sys.argv[1])
    results = [check(functions, header) for header in headers]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
