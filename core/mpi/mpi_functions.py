"""Reads functions.table: the functions of MPI and what their arguments mean.

Wrong input ends the program with `path:line: what is wrong`.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

STATES = ("implemented", "mapped", "interface", "later")
HANDLES = {
    "comm": "Comm",
    "datatype": "Datatype",
    "errhandler": "Errhandler",
    "file": "File",
    "group": "Group",
    "info": "Info",
    "message": "Message",
    "op": "Op",
    "request": "Request",
    "session": "Session",
    "win": "Win",
}


@dataclass(frozen=True)
class Kind:
    """Types of one kind of argument: inside, in the C function and in its large-count twin."""

    inside: str
    c: str
    large: str


def _kind(inside, c=None, large=None):
    return Kind(inside, c or inside, large or c or inside)


# Write kind[length] for an array, whose length translation and ranks that are processes need.
KINDS = {
    # Memory of the program.
    "buffer_in": _kind("const void*"),  # may be MPI_BOTTOM or MPI_IN_PLACE
    "buffer_out": _kind("void*"),  # likewise, or MPI_BUFFER_AUTOMATIC
    "buffer_address_out": _kind("void*"),  # points to a pointer that receives a buffer
    "address": _kind("void*"),
    "address_in": _kind("const void*"),
    "attribute": _kind("void*"),
    "attribute_out": _kind("void*"),
    "string": _kind("const char*"),
    "string_out": _kind("char*"),
    "argc": _kind("int*"),
    "argv": _kind("char**"),
    "argv_inout": _kind("char***"),
    "commands": _kind("void*"),  # char**, of a spawn
    "argv_array": _kind("void*"),  # char***
    "error_codes_out": _kind("int*"),  # of a spawn: how many there are the root knows
    # Counts and displacements: int or MPI_Aint in the classic function, wider in its twin.
    "count": _kind("Count", "int", "Count"),
    "count_out": _kind("Count*", "int*", "Count*"),
    "count_inout": _kind("Count*", "int*", "Count*"),
    "count_array": _kind("IntArray", "const int*", "const Count*"),
    "displacement_array": _kind("IntArray", "const int*", "const Aint*"),
    "byte_displacement_array": _kind("IntArray", "const Aint*", "const Count*"),
    "displacement_unit": _kind("Aint", "int", "Aint"),
    "displacement_unit_out": _kind("Aint*", "int*", "Aint*"),
    "size": _kind("Count", "Aint", "Count"),
    "size_out": _kind("Count*", "Aint*", "Count*"),
    "size_inout": _kind("Count*", "Aint*", "Count*"),
    # Integers of one width.
    "large_count": _kind("Count"),
    "large_count_out": _kind("Count*"),
    "large_count_array_out": _kind("Count*"),
    "aint": _kind("Aint"),
    "aint_out": _kind("Aint*"),
    "aint_array": _kind("IntArray", "const Aint*"),
    "aint_array_out": _kind("Aint*"),
    "offset": _kind("Offset"),
    "offset_out": _kind("Offset*"),
    "int": _kind("int"),
    "int_out": _kind("int*"),
    "int_inout": _kind("int*"),
    "int_array": _kind("const int*"),
    "int_array_out": _kind("int*"),
    "int_array_inout": _kind("int*"),
    "range_array": _kind("int (*{})[3]"),
    "content_integers": _kind("int*"),  # of MPI_Type_get_contents
    "weights": _kind("const int*"),  # may be MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY
    "weights_out": _kind("int*"),
    "double": _kind("double"),
    # Statuses.
    "status": _kind("const Status*"),
    "status_out": _kind("Status*"),  # may be MPI_STATUS_IGNORE
    "status_inout": _kind("Status*"),
    "status_array_out": _kind("Status*"),
    "fortran_status": _kind("int*"),
    # Functions of the program; op_function comes with its CallbackKind.
    "function": _kind("Function"),
    "op_function": _kind("Function"),
    # MPI_T: nothing is translated.
    "tool_handle": _kind("void*"),
    "tool_handle_out": _kind("void**"),
    "tool_handle_inout": _kind("void**"),
    # Arrays of handles; those of requests may be written to.
    "datatype_array": _kind("const Datatype*"),
    "datatype_array_out": _kind("Datatype*"),
    "info_array": _kind("const Info*"),
    "request_array": _kind("const Request*"),
    "request_array_inout": _kind("Request*"),
}
for _name, _type in HANDLES.items():
    KINDS[_name] = _kind(_type)
    KINDS[_name + "_out"] = KINDS[_name + "_inout"] = _kind(_type + "*")
# Integers whose constants differ between the binary interfaces.
CONSTANTS = {
    "access_mode", "combiner", "comparison", "error", "keyval", "lock_type", "order", "rank",
    "split_type", "tag", "thread_level", "topology", "typeclass", "whence", "win_assertion",
}  # fmt: skip
for _name in CONSTANTS:
    KINDS[_name] = _kind("int")
    KINDS[_name + "_out"] = KINDS[_name + "_inout"] = _kind("int*")
for _name in ("distribution", "distribution_argument", "rank"):
    KINDS[_name + "_array"] = _kind("const int*")
KINDS["rank_array_out"] = _kind("int*")

HANDLER_OBJECTS = ("comm", "win", "file", "session")


@dataclass
class Parameter:
    name: str
    kind: str
    length: str = ""


@dataclass
class Function:
    name: str
    section: str
    state: str
    parameters: list[Parameter] = field(default_factory=list)
    large: bool = False
    takes_form: bool = False  # our function has a last argument `bool large`
    returns: str = ""  # a kind, or nothing for an error code
    errors: str = ""
    same_as: str = ""
    variadic: bool = False

    @property
    def symbol(self):
        return self.name if self.name.startswith("MPIX_") else "MPI_" + self.name

    @property
    def target(self):
        return self.same_as or self.name

    def parameter(self, name):
        return next((p for p in self.parameters if p.name == name), None)

    def handler(self):
        """The kind of object that has the error handler, and the parameter that names it, or None.

        The kind is comm, win, file or session.
        """
        parameter = self.parameter(self.errors)
        return (parameter.kind.removesuffix("_inout"), parameter) if parameter else None


def declare(type_, name):
    """`type_ name` as C writes it."""
    return type_.format(name) if "{}" in type_ else f"{type_} {name}"


def _fail(path, number, text):
    sys.exit(f"{path}:{number}: {text}")


def _read_heading(path, number, line):
    match = re.fullmatch(r"== ([\w -]+): (\w+)", line)
    if not match or match[2] not in STATES:
        _fail(path, number, f"expected '== section: {'|'.join(STATES)}', got '{line}'")
    return match[1], match[2]


def _read_function(path, number, line, section, state):
    words = line.split()
    function = Function(words[0], section, state)
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        if word in ("+c", "+c=form"):
            function.large = True
            function.takes_form = word == "+c=form"
        elif word == "->" and rest and rest[0] in KINDS:
            function.returns = rest.pop(0)
        elif word.startswith("errors="):
            function.errors = word.removeprefix("errors=")
        elif word.startswith("same-as="):
            function.same_as = word.removeprefix("same-as=")
        else:
            _fail(
                path, number, f"expected +c, +c=form, '-> kind', errors= or same-as=, got '{word}'"
            )
    return function


def _read_parameter(path, number, word, function):
    if word == "...":
        function.variadic = True
        return
    match = re.fullmatch(r"(\w+):(\w+)(?:\[(.+)\])?", word)
    if not match or match[2] not in KINDS:
        _fail(path, number, f"expected parameter:kind with a kind of KINDS, got '{word}'")
    function.parameters.append(Parameter(match[1], match[2], match[3] or ""))


def _check(path, functions):
    names = {}
    for number, function in functions:
        if function.name in names:
            _fail(path, number, f"{function.name} is listed twice")
        names[function.name] = function
        if function.errors not in ("", "returned") and (
            not function.parameter(function.errors) or function.handler()[0] not in HANDLER_OBJECTS
        ):
            _fail(path, number, f"errors={function.errors} names no parameter with a handler")
    for number, function in functions:
        if function.same_as and function.same_as not in names:
            _fail(path, number, f"same-as={function.same_as} is not in the table")
        if function.same_as:
            function.takes_form = names[function.same_as].takes_form


def read_functions(path):
    """All functions of the table at `path`, in its order."""
    functions = []
    section = state = None
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("=="):
            section, state = _read_heading(path, number, line)
        elif not line.startswith(" "):
            if section is None:
                _fail(path, number, "a function before the first section")
            functions.append((number, _read_function(path, number, line, section, state)))
        else:
            for word in line.split():
                _read_parameter(path, number, word, functions[-1][1])
    _check(path, functions)
    return [function for _, function in functions]
