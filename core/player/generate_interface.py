"""Makes a header and the source of a library from functions.table, to compile and link the player.

The header declares the MPI functions in the MPICH binary interface. The library defines them, and
sesame_charge_computation (core/mpi/calls/call.cc), as functions that do nothing. So no MPI need be
installed. When the player runs, the simulator's own functions take their place.

usage: generate_interface.py TABLE HEADER LIBRARY_SOURCE
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mpi"))

from mpi_functions import KINDS, declare, read_functions


def prototypes(function):
    """The function and, where it has one, its large-count twin."""
    for large in (False, True)[: 1 + function.large]:
        kinds = [KINDS[parameter.kind] for parameter in function.parameters]
        types = [kind.large if large else kind.c for kind in kinds]
        returns = KINDS[function.returns].c if function.returns else "int"
        arguments = ", ".join(declare(type_, "").strip() for type_ in types)
        yield f"{returns} {function.symbol}{'_c' if large else ''}({arguments})"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    functions = [f for f in read_functions(sys.argv[1]) if f.state in ("implemented", "interface")]
    lines = [line for f in functions if not f.variadic for line in prototypes(f)]
    origin = "// Made from core/mpi/functions.table by generate_interface.py; do not edit.\n"
    Path(sys.argv[2]).write_text(
        f'{origin}#pragma once\n\n#include "core/mpi/objects/callbacks.h"\n\nnamespace sesame::mpi {{\n'
        'extern "C" {\n\n' + "".join(f"{line};\n" for line in lines) + "\n}\n}  // namespace\n"
    )
    header = "core/player/" + Path(sys.argv[2]).name
    Path(sys.argv[3]).write_text(
        f'{origin}#include "{header}"\n\nnamespace sesame::mpi {{\n'
        "#pragma GCC visibility push(default)\n"
        'extern "C" {\n\n' + "".join(f"{line} {{ return {{}}; }}\n" for line in lines)
        + "int sesame_charge_computation() { return {}; }\n"
        "\n}\n#pragma GCC visibility pop\n}  // namespace\n"
    )  # fmt: skip


if __name__ == "__main__":
    main()
