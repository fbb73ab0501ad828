"""Makes api.h, call_ids.h and call_ids.cc from functions.table.

usage: generate_api.py TABLE OUTPUT_DIRECTORY
"""

import sys
import textwrap
from pathlib import Path

from mpi_functions import KINDS, declare, read_functions

API_HEADER = """\
// Made from core/mpi/functions.table by generate_api.py; do not edit.
//
// The functions that implement MPI in the simulator. They have no prefix. Counts are always 64-bit,
// so one function implements a classic function and its large-count twin. Handles and constants are
// those of core/mpi/objects/constants.h. The functions return an error class (MPI_SUCCESS, ...) or
// an error code that the program added. They call no error handler: the entry points do.
//
// The arrays and statuses that an entry point passes may be on its stack. A non-blocking or
// persistent call copies what it needs later, and each call sets the handles that it returns (also
// MPI_Comm_idup) before it returns. Buffers are the program's own.
#pragma once

#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/int_array.h"

namespace sesame::mpi {

// Pass these for the weights of a graph without weights and for an empty list of weights. They are
// compared, never dereferenced.
inline int* const MPI_UNWEIGHTED = reinterpret_cast<int*>(kUnweightedAddress);
inline int* const MPI_WEIGHTS_EMPTY = reinterpret_cast<int*>(kWeightsEmptyAddress);
"""

IDS_HEADER = """\
// Made from core/mpi/functions.table by generate_api.py; do not edit.
//
// A number for every function of MPI, for records and messages. A classic function and its
// large-count twin share one.
#pragma once

#include <cstdint>

namespace sesame::mpi {

enum class CallId : uint16_t {
  None = 0,
"""


def inside_parameters(function):
    words = []
    for parameter in function.parameters:
        words.append(declare(KINDS[parameter.kind].inside, parameter.name))
        if parameter.kind == "op_function":
            words.append("CallbackKind callback_kind")
    if function.takes_form:
        words.append("bool large")
    return words


def declaration(function):
    returns = KINDS[function.returns].inside if function.returns else "int"
    words = [word.replace(" ", "\0") for word in inside_parameters(function)]
    text = f"{returns}\0{function.name}(" + ", ".join(words) + ");"
    lines = textwrap.wrap(text, 100, subsequent_indent="    ", break_long_words=False)
    return "\n".join(lines).replace("\0", " ")


def write_api(functions, path):
    lines = [API_HEADER]
    section = None
    for function in functions:
        if function.state not in ("implemented", "mapped") or function.same_as:
            continue
        if function.section != section:
            section = function.section
            lines.append(f"\n// {section[0].upper()}{section[1:]}.")
        lines.append(declaration(function))
    lines.append("\n}  // namespace sesame::mpi\n")
    path.write_text("\n".join(lines))


def write_ids(functions, header, source):
    ids = "".join(f"  {function.name},\n" for function in functions)
    header.write_text(
        f"{IDS_HEADER}{ids}}};\n\n"
        f"inline constexpr int kCallIds = {len(functions) + 1};\n\n"
        '// "MPI_Send".\n'
        "const char* call_name(CallId id);\n"
        '// The section of functions.table that has the function: "point-to-point".\n'
        "const char* call_section(CallId id);\n\n"
        "}  // namespace sesame::mpi\n"
    )
    rows = "".join(f'    {{"{f.symbol}", "{f.section}"}},\n' for f in functions)
    source.write_text(
        "// Made from core/mpi/functions.table by generate_api.py; do not edit.\n"
        '#include "core/mpi/call_ids.h"\n\n'
        "namespace sesame::mpi {\nnamespace {\n\n"
        "struct Row {\n  const char* name;\n  const char* section;\n};\n\n"
        'constexpr Row kRows[] = {\n    {"no call", "none"},\n' + rows + "};\n"
        "static_assert(sizeof(kRows) / sizeof(Row) == kCallIds);\n\n"
        "}  // namespace\n\n"
        "const char* call_name(CallId id) { return kRows[static_cast<int>(id)].name; }\n"
        "const char* call_section(CallId id) { return kRows[static_cast<int>(id)].section; }\n\n"
        "}  // namespace sesame::mpi\n"
    )


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    functions = read_functions(sys.argv[1])
    output = Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    write_api(functions, output / "api.h")
    write_ids(functions, output / "call_ids.h", output / "call_ids.cc")


if __name__ == "__main__":
    main()
