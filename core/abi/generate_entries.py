"""Makes the entry points of one binary interface, MPI_Send and the like, from functions.table.

usage: generate_entries.py TABLE mpich|mpiabi|openmpi OUTPUT_DIRECTORY FILES

Writes INTERFACE_entries_1.cc to INTERFACE_entries_FILES.cc and INTERFACE.dynlist, the symbols that
an executable with this interface exports. Entry points only translate: an argument by a function
(`rank_in(dest)`), or, where something comes back through it, by an object with get() for the call
and store() after it. The functions and classes are in narrow.h and translate.h.
"""

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mpi"))

from mpi_functions import CONSTANTS, HANDLES, KINDS, declare, read_functions

# Persistent collectives, which Open MPI 4 calls MPIX_…_init (mpi-ext.h) and MPI 4 MPI_…_init.
OPENMPI_PERSISTENT = {
    f"{name}_init" for name in (
        "Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Alltoallw", "Barrier",
        "Bcast", "Exscan", "Gather", "Gatherv", "Neighbor_allgather", "Neighbor_allgatherv",
        "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw", "Reduce",
        "Reduce_scatter", "Reduce_scatter_block", "Scan", "Scatter", "Scatterv",
    )
}  # fmt: skip

# Symbols beside the functions of the table, defined by hand.
EXTRA_SYMBOLS = {
    "mpich": [
        "MPII_Comm_get_attr", "MPII_Comm_set_attr", "MPII_Errhandler_set_cxx",
        "MPII_Grequest_set_lang_f77", "MPII_Keyval_set_proxy", "MPII_Op_set_cxx",
        "MPII_Type_get_attr", "MPII_Type_set_attr", "MPII_Win_get_attr", "MPII_Win_set_attr",
        "MPIR_C_MPI_UNWEIGHTED", "MPIR_C_MPI_WEIGHTS_EMPTY", "MPIR_Dup_fn",
        "MPI_F08_STATUSES_IGNORE", "MPI_F08_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
        "MPI_F_STATUS_IGNORE", "MPI_T_PVAR_ALL_HANDLES", "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY",
    ],
    "mpiabi": [],
    "openmpi": [
        *(f"OMPI_C_MPI_{of}{function}" for of in ("", "COMM_", "TYPE_", "WIN_")
          for function in ("DUP_FN", "NULL_COPY_FN", "NULL_DELETE_FN")),
        *(f"{p}MPIX_{name}" for name in sorted(OPENMPI_PERSISTENT) for p in ("", "P")),
        "OMPI_Affinity_str", "MPIX_Query_cuda_support", "MPIX_Query_rocm_support", "ompi_mpi_file_null",
        # For the C++ layer (openmpi_bindings.cc).
        *(f"ompi_cxx_attr_create_keyval_{of}" for of in ("comm", "type", "win")),
        *(f"ompi_cxx_errhandler_create_{of}" for of in ("comm", "file", "win")),
        "ompi_cxx_comm_get_type", "ompi_cxx_errhandler_invoke_comm",
        "ompi_cxx_errhandler_invoke_file", "ompi_cxx_errhandler_set_callbacks",
        "ompi_cxx_new_intercept_state", "ompi_op_set_cxx_callback",
        "ompi_errcode_intern_lastused", "ompi_errcodes_intern", "ompi_registered_datareps",
        "opal_class_init_epoch", "opal_list_item_t_class", "opal_uses_threads",
    ],
}  # fmt: skip
OPENMPI_HANDLES = Path(__file__).resolve().parent / "openmpi_handles.def"

# Texts for which Open MPI's programs have less memory than ours may need, with the null byte:
# MPI_MAX_ERROR_STRING, MPI_MAX_OBJECT_NAME and MPI_MAX_INFO_KEY of its mpi.h.
STRING_LIMITS = {
    "Error_string": 256,
    "Comm_get_name": 64,
    "Type_get_name": 64,
    "Win_get_name": 64,
    "Info_get_nthkey": 37,
}

# Arguments whose classic form is narrower than ours, in every interface.
NARROW = {
    "count_out": "CountOut",
    "count_inout": "CountInOut",
    "displacement_unit_out": "DisplacementUnitOut",
    "size_out": "SizeOut",
    "size_inout": "SizeInOut",
}

# The MPI 5 interface: kinds that a function translates, and those that need an object.
ABI_FUNCTIONS = {name: f"{name}_in" for name in CONSTANTS | set(HANDLES)}
ABI_FUNCTIONS |= {
    "buffer_in": "buffer_in",
    "buffer_out": "buffer_in",
    "weights": "weights_in",
    "weights_out": "weights_in",
}
ABI_OBJECTS = {f"{name}_out": f"IntOut<{name}_out>" for name in CONSTANTS}
ABI_OBJECTS |= {"keyval_inout": "IntInOut<keyval_in, keyval_out>"}
for _name, _type in HANDLES.items():
    ABI_OBJECTS[f"{_name}_out"] = f"HandleOut<Abi{_type}>"
    ABI_OBJECTS[f"{_name}_inout"] = f"HandleInOut<Abi{_type}>"
ABI_OBJECTS |= {
    "attribute_out": "AttributeOut",
    "buffer_address_out": "BufferAddressOut",
    "content_integers": "ContentIntegers",
    "datatype_array": "HandleArrayIn<AbiDatatype>",
    "datatype_array_out": "HandleArrayOut<AbiDatatype>",
    "distribution_argument_array": "IntArrayIn<distribution_argument_in>",
    "distribution_array": "IntArrayIn<distribution_in>",
    "info_array": "HandleArrayIn<AbiInfo>",
    "rank_array": "IntArrayIn<rank_in>",
    "rank_array_out": "IntArrayOut<rank_out>",
    "request_array": "HandleArrayIn<AbiRequest>",
    "request_array_inout": "HandleArrayInOut<AbiRequest>",
    "status": "StatusIn",
    "status_array_out": "StatusArrayOut",
    "status_inout": "StatusInOut",
    "status_out": "StatusOut",
}
# Objects that have nothing to store.
ABI_INPUTS = {"datatype_array", "distribution_argument_array", "distribution_array", "info_array",
              "rank_array", "request_array", "status"}  # fmt: skip


@dataclass
class Argument:
    """One argument of an entry point: how it is declared, prepared, passed on and given back."""

    declaration: str
    prepare: str
    pass_on: str
    store: str


class Mpich:
    """Handles, constants and statuses are ours."""

    name = "mpich"

    def has(self, function):
        return True

    def argument(self, parameter, large, function):
        kind = KINDS[parameter.kind]
        name = parameter.name
        declaration = declare(kind.large if large else kind.c, name)
        if parameter.kind in NARROW and not large:
            box = f"{name}_box"
            prepare = f"{NARROW[parameter.kind]} {box}({name});"
            return Argument(declaration, prepare, f"{box}.get()", f"{box}.store();")
        if parameter.kind in ("weights", "weights_out"):
            return Argument(declaration, "", f"weights_in({name}, {parameter.length})", "")
        return Argument(declaration, "", name, "")

    def result(self, expression):
        return expression


class MpiAbi:
    """The interface of the MPI 5 standard: everything is translated."""

    name = "mpiabi"

    def has(self, function):
        if function.name.startswith("MPIX_"):
            return function.name.startswith(("MPIX_Grequest_", "MPIX_Type_iov"))
        return not function.name.endswith(("_c2f", "_f2c", "_c2f08", "_f082c", "_f082f", "_f2f08"))

    def abi_type(self, type_):
        for inside in HANDLES.values():
            type_ = type_.replace(inside + "*", f"Abi{inside}*")
            if type_ == inside:
                return f"Abi{inside}"
        return type_.replace("Status*", "AbiStatus*")

    def argument(self, parameter, large, function):
        kind = KINDS[parameter.kind]
        name = parameter.name
        type_ = kind.large if large else kind.c
        if parameter.kind in NARROW and not large:
            return Mpich.argument(self, parameter, large, function)
        if parameter.kind in ABI_FUNCTIONS:
            prepare = f"const auto {name} = {ABI_FUNCTIONS[parameter.kind]}({name}_abi);"
            return Argument(declare(self.abi_type(type_), name + "_abi"), prepare, name, "")
        if parameter.kind in ABI_OBJECTS:
            box = f"{name}_box"
            arguments = f"{name}, {parameter.length}" if parameter.length else name
            prepare = f"{ABI_OBJECTS[parameter.kind]} {box}({arguments});"
            store = "" if parameter.kind in ABI_INPUTS else f"{box}.store();"
            return Argument(declare(self.abi_type(type_), name), prepare, f"{box}.get()", store)
        return Argument(declare(type_, name), "", name, "")

    def result(self, expression):
        return f"error_out({expression})"


class OpenMpi(MpiAbi):
    """Open MPI's interface: everything is translated, as for the standard's."""

    name = "openmpi"

    def has(self, function):
        return not function.name.startswith(("MPIX_", "Abi_"))

    def argument(self, parameter, large, function):
        limit = STRING_LIMITS.get(function.name)
        box = {"string_out": "ShortString", "int_out": "ShortLength"}.get(parameter.kind)
        if limit is None or box is None:
            return super().argument(parameter, large, function)
        name = parameter.name
        prepare = f"{box}<{limit}> {name}_box({name});"
        declaration = declare(KINDS[parameter.kind].c, name)
        return Argument(declaration, prepare, f"{name}_box.get()", f"{name}_box.store();")


def finish(interface, function, call):
    """The statement that ends the entry point; `call` is the error code's expression."""
    if function.returns:
        return f"return {call};"
    if function.errors == "returned":
        return f"return {interface.result(call)};"
    handler = function.handler()
    if handler is None:
        return f"return {interface.result(f'call.finish({call})')};"
    kind, parameter = handler
    name = "object" if parameter.kind.endswith("_inout") else parameter.name
    return f"return {interface.result(f'call.finish_{kind}({call}, {name})')};"


def passed_on(function, arguments, large):
    """What sesame::mpi is called with."""
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        yield argument.pass_on
        if parameter.kind == "op_function":
            yield "CallbackKind::kCLargeCount" if large else "CallbackKind::kC"
    if function.takes_form:
        yield "true" if large else "false"


def body(interface, function, large):
    """The arguments and the statements of an entry point."""
    arguments = [interface.argument(p, large, function) for p in function.parameters]
    # Values first: the length of an array may depend on them.
    values = [a.prepare for a in arguments if a.prepare.startswith("const auto")]
    boxes = [a.prepare for a in arguments if a.prepare and a.prepare not in values]
    lines = [f"CallScope call(CallId::{function.name});", *values]
    handler = function.handler()
    consumed = handler is not None and handler[1].kind.endswith("_inout")
    if consumed:  # The call may set the handle to null.
        lines.append(f"const auto object = object_at({handler[1].name});")
    call = f"mpi::{function.target}({', '.join(passed_on(function, arguments, large))})"
    if boxes or consumed:
        stores = [a.store for a in arguments if a.store]
        lines += [*boxes, f"const int outcome = {call};", *stores]
        lines.append(finish(interface, function, "outcome"))
    else:
        lines.append(finish(interface, function, call))
    return [a.declaration for a in arguments], lines


def wrap(text, indent):
    """Lines of at most 100 columns, broken after commas outside of types."""
    words = text.replace(", ", ",\1").replace(" ", "\0").replace("\1", " ")
    lines = textwrap.wrap(
        words, 100, initial_indent=indent, subsequent_indent=indent + "    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(lines).replace("\0", " ")


def entry(interface, function, large):
    symbol = function.symbol + ("_c" if large else "")
    profile = f"SESAME_PROFILE({symbol})"
    if function.state == "later":
        return (
            f"SESAME_ENTRY int {symbol}() {{\n  CallScope call(CallId::{function.name});\n"
            f"  call.not_implemented();\n}}\n{profile}\n"
        )
    if interface.name == "openmpi" and function.name in OPENMPI_PERSISTENT and not large:
        profile += "".join(
            f"\nSESAME_SECOND_NAME({symbol}, {prefix}MPIX_{function.name})" for prefix in ("", "P")
        )
    declarations, lines = body(interface, function, large)
    returns = KINDS[function.returns].c if function.returns else "int"
    head = wrap(f"SESAME_ENTRY {returns} {symbol}({', '.join(declarations)}) {{", "")
    return "\n".join([head, *(wrap(line, "  ") for line in lines), "}", profile, ""])


def entries(interface, functions):
    for function in functions:
        if interface.has(function) and function.state != "interface":
            yield entry(interface, function, False)
            if function.large:
                yield entry(interface, function, True)


def write_entries(interface, functions, directory, files):
    texts = list(entries(interface, functions))
    header = "mpich_entry.h" if interface.name == "mpich" else "translate.h"
    size = -(-len(texts) // files)
    for index in range(files):
        path = directory / f"{interface.name}_entries_{index + 1}.cc"
        path.write_text(
            "// Made from core/mpi/functions.table by generate_entries.py; do not edit.\n"
            f'#include "core/abi/{header}"\n#include "core/mpi/api.h"\n'
            '#include "core/mpi/calls/call.h"\n\n'
            "namespace sesame::abi {\n\n"
            + "\n".join(texts[index * size : (index + 1) * size])
            + "\n}  // namespace sesame::abi\n"
        )


def write_symbols(interface, functions, directory):
    symbols = []
    for function in functions:
        if interface.has(function):
            symbols.append(function.symbol)
            if function.large:
                symbols.append(function.symbol + "_c")
    symbols += ["P" + symbol for symbol in symbols] + EXTRA_SYMBOLS[interface.name]
    if interface.name == "openmpi":
        pattern = r"^SESAME_OPENMPI_HANDLE\(\w+, \w+, (\w+),"
        symbols += re.findall(pattern, OPENMPI_HANDLES.read_text(), re.MULTILINE)
    text = "".join(f"  {symbol};\n" for symbol in sorted(symbols))
    (directory / f"{interface.name}.dynlist").write_text("{\n" + text + "};\n")


def main():
    interfaces = {"mpich": Mpich, "mpiabi": MpiAbi, "openmpi": OpenMpi}
    if len(sys.argv) != 5 or sys.argv[2] not in interfaces:
        sys.exit(__doc__)
    interface = interfaces[sys.argv[2]]()
    functions = read_functions(sys.argv[1])
    directory = Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    write_entries(interface, functions, directory, int(sys.argv[4]))
    write_symbols(interface, functions, directory)


if __name__ == "__main__":
    main()
