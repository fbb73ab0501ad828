"""Makes the Fortran entry points of Open MPI's interface, mpi_send_ and the like.

usage: generate_fortran.py TABLE OUTPUT_DIRECTORY FILES

Writes openmpi_fortran_1.cc to openmpi_fortran_FILES.cc from the functions of the table, and
openmpi_fortran.dynlist, the symbols that the simulator exports for Fortran. The functions that
BY_HAND lists are in openmpi_fortran.cc and openmpi_fortran_callbacks.cc.

In Fortran every argument is an address, handles are integers, the error code is the last argument,
and the lengths of texts follow it. Translation is that of C (translate.h) where it can be;
openmpi_fortran.h has the rest.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generate_entries import (
    ABI_FUNCTIONS,
    ABI_INPUTS,
    ABI_OBJECTS,
    NARROW,
    Argument,
    finish,
    passed_on,
    wrap,
)
from mpi_functions import HANDLES, KINDS, declare, read_functions

# With functions of the program, attributes, texts in arrays or no counterpart among C's arguments.
BY_HAND = {
    "Aint_add", "Aint_diff", "Attr_get", "Attr_put", "Comm_create_errhandler", "Comm_create_keyval",
    "Comm_get_attr", "Comm_set_attr", "Comm_spawn", "Comm_spawn_multiple", "Errhandler_create",
    "File_create_errhandler", "Get_library_version", "Get_version", "Grequest_start",
    "Info_create_env", "Init", "Init_thread", "Keyval_create", "Op_create", "Pcontrol",
    "Register_datarep", "Session_create_errhandler", "Status_f082f", "Status_f2f08",
    "Type_create_keyval", "Type_get_attr", "Type_set_attr", "Win_create_errhandler",
    "Win_create_keyval", "Win_get_attr", "Win_set_attr",
}  # fmt: skip
ONLY_IN_FORTRAN = ("F_sync_reg",)

# Functions of which the module mpi has a second form, with a C pointer for the address.
WITH_POINTER = ("Alloc_mem", "Win_allocate", "Win_allocate_shared", "Win_shared_query")

ATTRIBUTE_FUNCTIONS = [
    f"{of}{function}"
    for of in ("", "comm_", "type_", "win_")
    for function in ("dup_fn", "null_copy_fn", "null_delete_fn")
]
SENTINELS = (
    "argv_null", "argvs_null", "bottom", "errcodes_ignore", "in_place", "status_ignore",
    "statuses_ignore", "unweighted", "weights_empty",
)  # fmt: skip

# MPI_SIZEOF of each type, as (name in Open MPI, bytes).
SIZES = {
    "character": 1, "complex32": 8, "complex64": 16, "complex128": 32, "int8": 1, "int16": 2,
    "int32": 4, "int64": 8, "logical": 4, "real32": 4, "real64": 8, "real128": 16,
}  # fmt: skip
RANKS = ("scalar", *(f"r{dimensions}" for dimensions in range(1, 16)))

# Positions in arrays, from 1 in Fortran.
INDICES = ("Request_get_status_any", "Testany", "Waitany")
SOME_INDICES = ("Request_get_status_some", "Testsome", "Waitsome")

INTEGERS = ("int", "Aint", "Count", "Offset")
TRANSLATED_BUFFERS = {
    "address": "fortran_buffer",
    "address_in": "fortran_buffer",
    "buffer_in": "fortran_buffer",
    "buffer_out": "fortran_buffer",
    "weights": "fortran_weights",
    "weights_out": "fortran_weights",
}
STATUSES = ("status", "status_array_out", "status_inout", "status_out")
LONGEST_TEXT = "MPI_MAX_LIBRARY_VERSION_STRING"


def fortran_type(type_):
    """A type of our functions with the handles that Fortran has in its place."""
    for inside in HANDLES.values():
        if type_.replace("const ", "").rstrip("*") == inside:
            return type_.replace(inside, f"Fortran{inside}")
    return type_


class Fortran:
    """How the arguments of an entry point are declared and translated."""

    def has(self, function):
        if function.state == "interface" or function.name in BY_HAND:
            return False
        return not function.name.startswith(("T_", "Abi_", "MPIX_")) and not function.name.endswith(
            "_c"
        )

    def boxed(self, parameter, class_name, arguments, type_, stores=True):
        box = f"{parameter.name}_box"
        return Argument(
            declare(type_, parameter.name),
            f"{class_name} {box}({arguments});",
            f"{box}.get()",
            f"{box}.store();" if stores else "",
        )

    def by_value(self, parameter, type_, translation):
        name = parameter.name
        prepare = f"const auto {name} = {translation.format(f'*{name}_f')};"
        return Argument(f"const {type_}* {name}_f", prepare, name, "")

    def text(self, function, parameter):
        name = parameter.name
        arguments = f"{name}, {name}_length"
        if parameter.kind == "string":
            return self.boxed(parameter, "FortranTextIn", arguments, "const char*", stores=False)
        size = {"Info_get": "valuelen", "Info_get_string": "*buflen"}.get(function.name)
        capacity = f"std::max<int>({size}, {LONGEST_TEXT})" if size else LONGEST_TEXT
        return self.boxed(parameter, "FortranTextOut", f"{arguments}, {capacity}", "char*")

    def integer_out(self, function, parameter):
        """An integer that counts from 1, or without the null byte, in Fortran; None for others."""
        name = parameter.name
        if name == "indx" and function.name in INDICES:
            return self.boxed(parameter, "IntOut<fortran_index>", name, "int*")
        if name == "array_of_indices" and function.name in SOME_INDICES:
            return self.boxed(parameter, "FortranIndices", f"{name}, outcount, incount", "int*")
        if parameter.kind == "int_inout" and name in ("buflen", "pset_len"):
            return self.boxed(parameter, "FortranTextLength", name, "int*")
        texts = [p.name for p in function.parameters if p.kind == "string_out"]
        if name == "resultlen" and texts:
            return self.boxed(parameter, "FortranLength", f"{name}, {texts[0]}_length", "int*")
        return None

    def object(self, parameter):
        """An argument that comes back, or an array, translated by a class of translate.h."""
        kind, name = parameter.kind, parameter.name
        source = f"fortran_status({name})" if kind in STATUSES else name
        arguments = f"{source}, {parameter.length}" if parameter.length else source
        class_name = ABI_OBJECTS[kind]
        for inside in HANDLES.values():
            class_name = class_name.replace(f"Abi{inside}>", f"Fortran{inside}>")
        type_ = "const Fint*" if kind == "status" else fortran_type(KINDS[kind].c)
        type_ = type_.replace("Status*", "Fint*") if kind in STATUSES[1:] else type_
        return self.boxed(parameter, class_name, arguments, type_, kind not in ABI_INPUTS)

    def argument(self, parameter, large, function):
        kind, name = parameter.kind, parameter.name
        type_ = KINDS[kind].c
        if kind in ("string", "string_out"):
            return self.text(function, parameter)
        if kind == "buffer_address_out":  # Fortran's argument is not the address's variable
            return Argument(f"void* {name}_f", f"void* {name} = {name}_f;", f"&{name}", "")
        if kind in TRANSLATED_BUFFERS:
            prepare = f"const auto {name} = {TRANSLATED_BUFFERS[kind]}({name}_f);"
            return Argument(declare(type_, f"{name}_f"), prepare, name, "")
        if special := self.integer_out(function, parameter):
            return special
        if kind in NARROW:
            return self.boxed(parameter, NARROW[kind], name, type_)
        if kind in HANDLES:
            return self.by_value(parameter, f"Fortran{HANDLES[kind]}", "handle_of({})")
        if kind in ABI_FUNCTIONS:
            return self.by_value(parameter, type_, ABI_FUNCTIONS[kind] + "({})")
        if kind in ABI_OBJECTS:
            return self.object(parameter)
        if type_ in INTEGERS:
            return self.by_value(parameter, type_, "{}")
        return Argument(declare(type_, name), "", name, "")

    def result(self, expression):
        return expression


def text_lengths(function):
    return [
        f"int {p.name}_length" for p in function.parameters if p.kind in ("string", "string_out")
    ]


def body(interface, function):
    """The arguments and the statements of an entry point."""
    arguments = [interface.argument(p, False, function) for p in function.parameters]
    values = [a.prepare for a in arguments if a.prepare.startswith("const auto")]
    boxes = [a.prepare for a in arguments if a.prepare and a.prepare not in values]
    lines = [f"CallScope call(CallId::{function.name});", *values]
    handler = function.handler()
    if handler is not None and handler[1].kind.endswith("_inout"):  # The call may set it to null.
        lines.append(f"const auto object = object_at({handler[1].name});")
    call = f"mpi::{function.target}({', '.join(passed_on(function, arguments, False))})"
    declarations = [a.declaration for a in arguments]
    if function.returns:
        return declarations, [*lines, *boxes, finish(interface, function, call)]
    lines += [*boxes, f"const int outcome = {call};", *(a.store for a in arguments if a.store)]
    result = finish(interface, function, "outcome").removeprefix("return ").removesuffix(";")
    lines.append(f"set_error(ierror, {result});")
    return [*declarations, "Fint* ierror", *text_lengths(function)], lines


def names_of(name, section=""):
    """Macros that give the function of this name its other names."""
    cases = f"{name}, {name.lower()}, {name.upper()}"
    lines = [f"SESAME_FORTRAN({cases})"]
    if name in WITH_POINTER:
        lines.append(f"SESAME_FORTRAN_POINTER({cases})")
    if name.endswith("_init") and "collectives" in section:
        lines.append(f"SESAME_FORTRAN_EXTENSION({cases})")
    return lines


def entry(interface, function):
    symbol = f"ompi_{function.name.lower()}_f"
    names = names_of(function.name, function.section)
    if function.state == "later":
        lines = [f"CallScope call(CallId::{function.name});", "call.not_implemented();"]
        return "\n".join(
            [f"SESAME_ENTRY void {symbol}() {{", *(f"  {line}" for line in lines), "}", *names, ""]
        )
    declarations, lines = body(interface, function)
    returns = KINDS[function.returns].c if function.returns else "void"
    head = wrap(f"SESAME_ENTRY {returns} {symbol}({', '.join(declarations)}) {{", "")
    return "\n".join([head, *(wrap(line, "  ") for line in lines), "}", *names, ""])


def size_entries():
    for type_, size in SIZES.items():
        for rank in RANKS:
            yield f"SESAME_FORTRAN_SIZEOF({type_}_{rank}, {size})\n"


def write_entries(functions, directory, files):
    interface = Fortran()
    texts = [entry(interface, function) for function in functions if interface.has(function)]
    texts.append("".join(size_entries()))
    size = -(-len(texts) // files)
    for index in range(files):
        path = directory / f"openmpi_fortran_{index + 1}.cc"
        path.write_text(
            "// Made from core/mpi/functions.table by generate_fortran.py; do not edit.\n"
            '#include "core/abi/openmpi_fortran.h"\n#include "core/mpi/api.h"\n'
            '#include "core/mpi/calls/call.h"\n\n'
            "namespace sesame::abi {\n\n"
            + "\n".join(texts[index * size : (index + 1) * size])
            + "\n}  // namespace sesame::abi\n"
        )


def symbols_of(name, mpi="mpi"):
    """The symbols that the macro SESAME_FORTRAN defines; `mpi` is mpix for extensions."""
    lower, upper, capitals = f"{mpi}_{name.lower()}", f"{mpi}_{name}".upper(), mpi.upper()
    yield f"o{lower}_f"
    for p in ("", "p"):
        yield from (p + lower, f"{p}{lower}_", f"{p}{lower}__", p.upper() + upper)
        yield from (f"{p.upper()}{capitals}_{name}_f", f"{p.upper()}{capitals}_{name}_f08")


def write_symbols(functions, directory):
    interface = Fortran()
    names = [*BY_HAND, *ONLY_IN_FORTRAN]
    names += [function.name for function in functions if interface.has(function)]
    symbols = {symbol for name in names for symbol in symbols_of(name)}
    for name in WITH_POINTER:
        symbols.update(symbols_of(f"{name}_cptr"))
    for function in functions:
        if function.name.endswith("_init") and "collectives" in function.section:
            symbols.update(symbols_of(function.name, "mpix"))
    for name in ATTRIBUTE_FUNCTIONS:
        symbols.update((f"ompi_{name}_f", f"mpi_{name}", f"mpi_{name}_", f"mpi_{name}__"))
        symbols.add(f"MPI_{name}".upper())
    symbols.update(f"mpi_conversion_fn_null{end}" for end in ("", "_", "__", "_f"))
    symbols.add("MPI_CONVERSION_FN_NULL")
    symbols.update(f"mpi_fortran_{name}_" for name in SENTINELS)
    symbols.update(f"{p}mpi_sizeof_{t}_{r}_" for p in ("", "p") for t in SIZES for r in RANKS)
    text = "".join(f"  {symbol};\n" for symbol in sorted(symbols))
    (directory / "openmpi_fortran.dynlist").write_text("{\n" + text + "};\n")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    functions = read_functions(sys.argv[1])
    directory = Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    write_entries(functions, directory, int(sys.argv[3]))
    write_symbols(functions, directory)


if __name__ == "__main__":
    main()
