"""Makes both sides of the calls of a rank that is a process, from functions.table.

usage: generate_remote.py TABLE program|server OUTPUT_FILE

program: functions of sesame::mpi for the rank's MPI library, which send the call to the simulator.
server: a function for each of them, which reads the arguments and calls the simulator's function.
Both handle arguments in the same order; requests.h and incoming.h say how.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mpi"))

from generate_api import declaration
from mpi_functions import KINDS, read_functions

# Calls that need nothing of the simulator, or are written by hand (special_calls.cc).
BY_HAND = {
    "Alloc_mem", "Free_mem", "Get_address", "Wtick", "Comm_get_attr", "Comm_set_attr",
    "Type_get_attr", "Type_set_attr", "Win_get_attr", "Win_set_attr",
}  # fmt: skip
LOCAL_SECTIONS = {"tools"}

# What ranks as processes do not have yet.
UNSUPPORTED_SECTIONS = {"one-sided", "files", "dynamic processes"}
UNSUPPORTED = {
    "Grequest_complete", "Grequest_start", "Info_create_env", "Pack_external", "Unpack_external",
}  # fmt: skip
SUPPORTED_OF_THEM = {"Win_create_keyval", "Win_free_keyval"}

# Lengths that the table gives in another form, for the entry points.
LENGTHS = {
    ("Dist_graph_create", "weights"): "sum_of(degrees, n)",
    ("Type_get_contents", "array_of_integers"): "max_integers",
    ("Type_get_contents_c", "array_of_integers"): "max_integers",
}
ARRAYS_OF_INTEGERS = "IntArray"
IN_ARRAYS = {"int_array", "weights", "range_array", "datatype_array", "info_array",
             "request_array", "distribution_array", "distribution_argument_array", "rank_array"}  # fmt: skip
ARRAY_SUFFIXES = ("_array_out", "_array_inout")


def is_unsupported(function):
    if function.name in SUPPORTED_OF_THEM:
        return False
    return function.section in UNSUPPORTED_SECTIONS or function.name in UNSUPPORTED


def remote_functions(functions):
    for function in functions:
        if (
            function.state == "implemented"
            and not function.same_as
            and function.section not in LOCAL_SECTIONS
            and function.name not in BY_HAND
        ):
            yield function


def form_of(function, parameter):
    """How a parameter passes: value, buffer, text, text_out, variable, in_array, out_array, none."""
    kind = parameter.kind
    inside = KINDS[kind].inside
    if kind in ("argc", "argv", "argv_inout"):
        return "none"
    if kind in ("buffer_in", "buffer_out"):
        return "buffer"
    if kind == "string":
        return "text"
    if kind == "string_out":
        return "text_out"
    if inside == ARRAYS_OF_INTEGERS:
        return "integers"
    if kind in IN_ARRAYS:
        return "in_array"
    if kind.endswith(ARRAY_SUFFIXES) or kind in ("content_integers", "weights_out"):
        return "out_array"
    if kind == "status":
        return "variable_in"
    if kind == "buffer_address_out":
        return "buffer_address"
    if kind.endswith(("_out", "_inout")):
        return "variable"
    return "value"


def length_of(function, parameter):
    length = LENGTHS.get((function.name, parameter.name), parameter.length)
    if not length:
        sys.exit(f"functions.table: {function.name}: {parameter.name} needs a length")
    return length


def element_of(parameter):
    inside = KINDS[parameter.kind].inside
    if parameter.kind == "range_array":
        return "int[3]"
    return inside.removeprefix("const ").removesuffix("*")


def window_of(function, parameter):
    """The parameters that say how long a buffer to send is, or None."""
    if parameter.kind != "buffer_in":
        return None
    pairs = [("sendcount", "sendtype")] if parameter.name == "sendbuf" else []
    for count, datatype in [*pairs, ("count", "datatype"), ("incount", "datatype")]:
        if function.parameter(count) and function.parameter(datatype):
            return count, datatype
    return None


# ---- The program's side ----


def program_lines(function):
    lines = [f"CallRequest remote_call(static_cast<uint16_t>(CallId::{function.name}));"]
    after = []
    lengths = {}  # variables by expression: some expressions need a request
    for parameter in function.parameters:
        name = parameter.name
        form = form_of(function, parameter)
        if form in ("integers", "in_array", "out_array"):
            length = lengths.setdefault(length_of(function, parameter), f"length_of_{name}")
            lines.append(f"remote_call.put_array({name}, {length});")
            if form == "out_array":
                after.append(f"remote_call.get_array({name}, {length});")
        elif form == "text":
            lines.append(f"remote_call.put_text({name});")
        elif form == "text_out":
            after.append(f"remote_call.get_text({name});")
        elif form in ("variable", "variable_in"):
            lines.append(f"remote_call.put_variable({name});")
            if form == "variable":
                after.append(f"remote_call.get_variable({name});")
        elif form == "buffer_address":
            lines.append(f"remote_call.put_variable(static_cast<void**>({name}));")
            after.append(f"remote_call.get_variable(static_cast<void**>({name}));")
        elif form in ("value", "buffer"):
            lines.append(f"remote_call.put({name});")
            if parameter.kind == "op_function":
                lines.append("remote_call.put(callback_kind);")
    if function.takes_form:
        lines.append("remote_call.put(large);")
    for parameter in function.parameters:
        if window := window_of(function, parameter):
            lines.append(f"remote_call.put_window({parameter.name}, {window[0]}, {window[1]});")
    # The lengths may need requests of their own, before this one's values are written.
    lines = [*(f"const Count {name} = {length};" for length, name in lengths.items()), *lines]
    if function.returns:
        return [*lines, "return remote_call.call_for_double();"]
    return [*lines, "const int outcome = remote_call.call();", *after, "return outcome;"]


def program_definition(function):
    head = declaration(function).removesuffix(";")
    if is_unsupported(function):
        return f"{head} {{\n  remote::unsupported(CallId::{function.name});\n}}\n"
    body = "\n".join("  " + line for line in program_lines(function))
    return f"{head} {{\n{body}\n}}\n"


def write_program(functions, path):
    many = [f.name for f in functions if needs_many_requests(f, functions)]
    cases = "\n".join(f"    case CallId::{name}:" for name in many)
    path.write_text(
        "// Made from core/mpi/functions.table by generate_remote.py; do not edit.\n"
        '#include "core/mpi/api.h"\n#include "core/remote/program/requests.h"\n\n'
        "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n\n"
        "namespace sesame::mpi {\n\nusing namespace remote;\n\n"
        + "\n".join(program_definition(f) for f in remote_functions(functions))
        + "\nbool needs_many_requests(CallId id) {\n  switch (id) {\n"
        + cases
        + "\n      return true;\n    default:\n      return false;\n  }\n}\n"
        + "\n}  // namespace sesame::mpi\n"
    )


def needs_many_requests(function, functions):
    """Whether an entry point of some interface may make several requests (or a wrong one)."""
    if function.state == "mapped" and not function.same_as:
        return True
    if function.name in ("Comm_spawn", "Comm_spawn_multiple"):
        return True
    # The lengths of arrays of handles are asked for by translating entry points.
    return any(
        "(" in p.length and KINDS[p.kind].inside != ARRAYS_OF_INTEGERS and p.kind != "int_array"
        for p in function.parameters
    ) or any(p.kind == "content_integers" for p in function.parameters)


# ---- The simulator's side ----


def server_lines(function):
    lines = []
    arguments = []
    after = []
    consumed = None
    handler = function.handler()
    for parameter in function.parameters:
        name = parameter.name
        form = form_of(function, parameter)
        element = element_of(parameter)
        if form == "none":
            arguments.append("{}")
            continue
        if form == "value":
            lines.append(f"const auto {name} = call.value<{KINDS[parameter.kind].inside}>();")
            arguments.append(name)
        elif form == "buffer":
            lines.append(f"const auto {name} = call.buffer<{KINDS[parameter.kind].inside}>();")
            arguments.append(name)
        elif form == "text":
            lines.append(f"const char* const {name} = call.text();")
            arguments.append(name)
        elif form == "text_out":
            lines.append(f"TextOut {name};")
            arguments.append(f"{name}.get()")
            after.append(f"{name}.store(call);")
        elif form == "integers":
            lines.append(f"const InArray<Count> {name}(call);")
            arguments.append(f"IntArray({name}.get())")
        elif form == "in_array":
            lines.append(f"const InArray<{element}> {name}(call);")
            const = "const_cast<int(*)[3]>" if parameter.kind == "range_array" else ""
            arguments.append(f"{const}({name}.get())")
        elif form == "out_array":
            lines.append(f"OutArray<{element}> {name}(call);")
            arguments.append(f"{name}.get()")
            after.append(f"{name}.store();")
        elif form == "buffer_address":
            lines.append(f"BufferAddress {name}(call);")
            arguments.append(f"{name}.get()")
            after.append(f"{name}.store();")
        else:
            lines.append(f"Variable<{element}> {name}(call);")
            arguments.append(f"{name}.get()")
            if form == "variable":
                after.append(f"{name}.store();")
        if parameter.kind == "op_function":
            lines.append("const auto callback_kind = call.value<CallbackKind>();")
            arguments.append("callback_kind")
        if handler is not None and handler[1] is parameter and form == "variable":
            consumed = f"{name}_before"
            lines.append(f"const auto {consumed} = {name}.value();")
    if function.takes_form:
        lines.append("const bool large = call.value<bool>();")
        arguments.append("large")
    for parameter in function.parameters:
        if window_of(function, parameter):
            lines.append(f"call.window({parameter.name});")
    expression = f"mpi::{function.name}({', '.join(arguments)})"
    if function.returns:
        return [*lines, f"call.returns({expression});"]
    lines.append(f"const int outcome = {expression};")
    if function.errors == "returned":
        lines.append("call.returns(outcome);")
    elif handler is None:
        lines.append("call.finish(outcome);")
    else:
        lines.append(f"call.finish_{handler[0]}(outcome, {consumed or handler[1].name});")
    return [*lines, *after]


def write_server(functions, path):
    supported = [f for f in remote_functions(functions) if not is_unsupported(f)]
    parts = []
    for function in supported:
        body = "\n".join("  " + line for line in server_lines(function))
        parts.append(f"void serve_{function.name}(Incoming& call) {{\n{body}\n}}\n")
    cases = "".join(
        f"    case CallId::{f.name}:\n      return serve_{f.name};\n" for f in supported
    )
    path.write_text(
        "// Made from core/mpi/functions.table by generate_remote.py; do not edit.\n"
        '#include "core/mpi/api.h"\n#include "core/remote/incoming.h"\n\n'
        "namespace sesame::remote {\nnamespace {\n\n"
        + "\n".join(parts)
        + "\n}  // namespace\n\nServe serve_function(CallId id) {\n  switch (id) {\n"
        + cases
        + "    default:\n      return nullptr;\n  }\n}\n\n}  // namespace sesame::remote\n"
    )


def main():
    writers = {"program": write_program, "server": write_server}
    if len(sys.argv) != 4 or sys.argv[2] not in writers:
        sys.exit(__doc__)
    path = Path(sys.argv[3])
    path.parent.mkdir(parents=True, exist_ok=True)
    writers[sys.argv[2]](read_functions(sys.argv[1]), path)


if __name__ == "__main__":
    main()
