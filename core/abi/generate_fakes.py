"""Makes a fake of every function in sesame::mpi for tests of the entry points: it succeeds and does
nothing, and a test that defines the function itself replaces it.

usage: generate_fakes.py TABLE OUTPUT_FILE
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mpi"))

from generate_api import declaration
from mpi_functions import read_functions


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lines = [
        "// Made from core/mpi/functions.table by generate_fakes.py; do not edit.",
        '#include "core/mpi/api.h"\n#include "core/mpi/objects/errors.h"\n',
        "namespace sesame::mpi {\n",
    ]
    for function in read_functions(sys.argv[1]):
        if function.state == "implemented" and not function.same_as:
            text = declaration(function).removesuffix(";")
            lines.append(f"[[gnu::weak]] {text} {{ return {{}}; }}")
    lines.append("\nint fail(int error_class, std::string) { return error_class; }")
    lines.append("\n}  // namespace sesame::mpi\n")
    Path(sys.argv[2]).write_text("\n".join(lines))


if __name__ == "__main__":
    main()
