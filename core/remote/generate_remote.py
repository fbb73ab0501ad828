"""Makes both sides of the calls of a rank that is a process, from functions.table.

usage: generate_remote.py TABLE program|server OUTPUT_FILE

program: functions of sesame::mpi for the rank's MPI library, which send the call to the simulator.
server: a function for each of them, which reads the arguments and calls the simulator's function.
Both handle arguments in the same order; requests.h and incoming.h say how.
"""

import sys
from dataclasses import dataclass, replace
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

# Calls that may be deferred (core/remote/program/deferral.h), and when.
DEFERRED = {
    "Send": "is_eager(count, datatype) && is_plain_send(buf, count, datatype, dest, tag, comm)",
    "Isend": "request != nullptr && is_plain_send(buf, count, datatype, dest, tag, comm)",
    "Irecv": "request != nullptr && is_plain_receive(buf, count, datatype, source, tag, comm)",
}
# Those that deferral.h answers in the process where it can.
ANSWERED = {"Comm_rank", "Comm_size", "Get_processor_name", "Initialized", "Type_size"}
# And those after which communicators may have other handles.
FORGETTING = {"Comm_disconnect", "Comm_free", "Finalize", "Session_finalize"}

# Lengths that the table gives in another form, for the entry points.
LENGTHS = {
    ("Dist_graph_create", "weights"): "sum_of(degrees, n)",
    ("Info_create_env", "argv"): "argc > 0",
    ("Type_get_contents", "array_of_integers"): "max_integers",
    ("Type_get_contents_c", "array_of_integers"): "max_integers",
}
ARRAYS_OF_INTEGERS = "IntArray"
IN_ARRAYS = {
    "int_array", "weights", "datatype_array", "info_array", "request_array", "distribution_array",
    "distribution_argument_array", "rank_array",
}  # fmt: skip
ARRAY_SUFFIXES = ("_array_out", "_array_inout")


def remote_functions(functions):
    for function in functions:
        if (
            function.state == "implemented"
            and not function.same_as
            and function.section not in LOCAL_SECTIONS
            and function.name not in BY_HAND
        ):
            yield function


@dataclass(frozen=True)
class Form:
    """How an argument passes: what each side does for it, in the order in which it happens."""

    put: str = ""  # the program: writes it into the request
    read: str = ""  # the simulator: reads it
    argument: str = "{name}"  # passes it to the function
    store: str = ""  # writes into the reply what the function gave
    get: str = ""  # the program: reads that


NOTHING = Form(argument="{{}}")
VALUE = Form("put({name})", "const auto {name} = call.value<{inside}>();")
BUFFER = Form("put({name})", "const auto {name} = call.buffer<{inside}>();")
TEXT = Form("put_text({name})", "const char* const {name} = call.text();")
# On other ranks than the root it may be anything.
TEXT_OF_ROOT = replace(TEXT, put="put_text({length} > 0 ? {name} : nullptr)")
ADDRESS = Form("put({name})", "auto* const {name} = call.address<{inside}>();")
TEXT_LISTS = {
    "argv": Form("put_argv({name}, {length})", "TextLists {name}(call);", "{name}.first()"),
    "commands": Form("put_commands({name}, {length})", "TextLists {name}(call);", "{name}.first()"),
    "argv_array": Form(
        "put_argv_array({name}, {length})", "TextLists {name}(call);", "{name}.all()"
    ),
}
TEXT_OUT = Form(
    read="TextOut {name};",
    argument="{name}.get()",
    store="{name}.store(call);",
    get="get_text({name})",
)
VARIABLE_IN = Form("put_variable({name})", "Variable<{element}> {name}(call);", "{name}.get()")
VARIABLE = replace(VARIABLE_IN, store="{name}.store();", get="get_variable({name})")
BUFFER_ADDRESS = Form(
    put="put_variable(static_cast<void**>({name}))",
    read="BufferAddress {name}(call);",
    argument="{name}.get()",
    store="{name}.store();",
    get="get_variable(static_cast<void**>({name}))",
)
ARRAY = Form(
    "put_array({name}, {length})", "const InArray<{element}> {name}(call);", "{name}.get()"
)
INTEGERS = replace(
    ARRAY, read="const InArray<Count> {name}(call);", argument="IntArray({name}.get())"
)
RANGES = replace(
    ARRAY,
    read="const InArray<int[3]> {name}(call);",
    argument="const_cast<int(*)[3]>({name}.get())",
)
ARRAY_OUT = replace(
    ARRAY,
    read="OutArray<{element}> {name}(call);",
    store="{name}.store();",
    get="get_array({name})",
)


def form_of(parameter, has_root=False):
    kind = parameter.kind
    if parameter.name == "baseptr":
        return BUFFER_ADDRESS
    if kind in ("argc", "argv_inout"):
        return NOTHING
    if kind in TEXT_LISTS:
        return TEXT_LISTS[kind]
    if kind == "error_codes_out":
        return ADDRESS
    if kind in ("buffer_in", "buffer_out"):
        return BUFFER
    if kind == "string":
        return TEXT_OF_ROOT if has_root else TEXT
    if kind == "string_out":
        return TEXT_OUT
    if KINDS[kind].inside == ARRAYS_OF_INTEGERS:
        return INTEGERS
    if kind == "range_array":
        return RANGES
    if kind in IN_ARRAYS:
        return ARRAY
    if kind.endswith(ARRAY_SUFFIXES) or kind in ("content_integers", "weights_out"):
        return ARRAY_OUT
    if kind == "status":
        return VARIABLE_IN
    if kind == "buffer_address_out":
        return BUFFER_ADDRESS
    if kind.endswith(("_out", "_inout")):
        return VARIABLE
    return VALUE


def written(template, parameter, length=""):
    inside = KINDS[parameter.kind].inside
    element = inside.removeprefix("const ").removesuffix("*")
    return template.format(name=parameter.name, inside=inside, element=element, length=length)


def length_of(function, parameter):
    length = LENGTHS.get((function.name, parameter.name), parameter.length)
    if not length and parameter.kind in ("argv", "string"):
        return "at_root(1, root, comm)"
    if not length:
        sys.exit(f"functions.table: {function.name}: {parameter.name} needs a length")
    return length


def window_of(function, parameter):
    """The parameters that say how long a buffer to send is; None: its bytes are not sent.

    With a root, some ranks may give any address.
    """
    if parameter.kind != "buffer_in" or function.parameter("root"):
        return None
    pairs = [("sendcount", "sendtype")] if parameter.name == "sendbuf" else []
    # With MPI_NO_OP, whose calls have a result, the origin may be any address.
    if not function.parameter("result_addr"):
        pairs.append(("origin_count", "origin_datatype"))
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
        form = form_of(parameter, function.parameter("root") is not None)
        length = ""
        if "{length}" in form.put:
            expression = length_of(function, parameter)
            length = lengths.setdefault(expression, f"length_of_{parameter.name}")
        if form.put:
            lines.append(f"remote_call.{written(form.put, parameter, length)};")
        if form.get:
            after.append(f"remote_call.{written(form.get, parameter, length)};")
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
    if function.name in DEFERRED:
        handle = "request" if function.parameter("request") else ""
        lines = [
            f"const bool is_plain = {DEFERRED[function.name]};",
            *lines,
            f"if (is_plain && remote_call.defer({handle})) return MPI_SUCCESS;",
        ]
    if function.name in ANSWERED:
        arguments = ", ".join(p.name for p in function.parameters)
        lines = [f"if (answer_{function.name}({arguments})) return MPI_SUCCESS;", *lines]
    if function.name in FORGETTING:
        lines = ["forget_communicators();", *lines]
    return [*lines, "const int outcome = remote_call.call();", *after, "return outcome;"]


def program_definition(function):
    head = declaration(function).removesuffix(";")
    body = "\n".join("  " + line for line in program_lines(function))
    return f"{head} {{\n{body}\n}}\n"


def write_program(functions, path):
    many = [f.name for f in functions if needs_many_requests(f)]
    cases = "\n".join(f"    case CallId::{name}:" for name in many)
    path.write_text(
        "// Made from core/mpi/functions.table by generate_remote.py; do not edit.\n"
        '#include "core/mpi/api.h"\n#include "core/remote/program/comm_facts.h"\n'
        '#include "core/remote/program/deferral.h"\n#include "core/remote/program/requests.h"\n\n'
        '#pragma GCC diagnostic ignored "-Wunused-parameter"\n\n'
        "namespace sesame::mpi {\n\nusing namespace remote;\n\n"
        + "\n".join(program_definition(f) for f in remote_functions(functions))
        + "\nbool needs_many_requests(CallId id) {\n  switch (id) {\n"
        + cases
        + "\n      return true;\n    default:\n      return false;\n  }\n}\n"
        + "\n}  // namespace sesame::mpi\n"
    )


def needs_many_requests(function):
    """Whether an entry point of some interface may make several requests, or another call's."""
    if function.state == "mapped" and not function.same_as:
        return True
    # Translating these arguments takes a call: what the type consists of.
    return any(p.kind == "content_integers" for p in function.parameters)


# ---- The simulator's side ----


def length_check(function, parameter):
    """Where the length is a parameter or the simulator knows it, the array must have it."""
    form = form_of(parameter, function.parameter("root") is not None)
    if "{length}" not in form.put or "Array" not in form.read:
        return None
    length = length_of(function, parameter)
    if length.startswith(("last_of", "sum_of")):  # of another array
        return None
    return f"{parameter.name}.expect_count({length});"


def server_lines(function):
    lines = []
    arguments = []
    after = []
    handler = function.handler()
    owner = handler and handler[1].name
    for parameter in function.parameters:
        form = form_of(parameter)
        if form.read:
            lines.append(written(form.read, parameter))
        arguments.append(written(form.argument, parameter))
        if form.store:
            after.append(written(form.store, parameter))
        if parameter.kind == "op_function":
            lines.append("const auto callback_kind = call.value<CallbackKind>();")
            arguments.append("callback_kind")
        if handler and handler[1] is parameter and form is VARIABLE:
            owner = f"{parameter.name}_before"  # the call may free the object
            lines.append(f"const auto {owner} = {parameter.name}.value();")
    if function.takes_form:
        lines.append("const bool large = call.value<bool>();")
        arguments.append("large")
    for parameter in function.parameters:
        if window_of(function, parameter):
            lines.append(f"call.window({parameter.name});")
    lines += filter(None, (length_check(function, p) for p in function.parameters))
    expression = f"mpi::{function.name}({', '.join(arguments)})"
    if function.returns:
        return [*lines, f"call.returns({expression});"]
    lines.append(f"const int outcome = {expression};")
    if function.errors == "returned":
        lines.append("call.returns(outcome);")
    elif handler is None:
        lines.append("call.finish(outcome);")
    else:
        lines.append(f"call.finish_{handler[0]}(outcome, {owner});")
    return [*lines, *after]


def write_server(functions, path):
    functions = list(remote_functions(functions))
    parts = []
    for function in functions:
        body = "\n".join("  " + line for line in server_lines(function))
        parts.append(f"void serve_{function.name}(Incoming& call) {{\n{body}\n}}\n")
    cases = "".join(
        f"    case CallId::{f.name}:\n      return serve_{f.name};\n" for f in functions
    )
    path.write_text(
        "// Made from core/mpi/functions.table by generate_remote.py; do not edit.\n"
        '#include "core/mpi/api.h"\n#include "core/mpi/calls/array_lengths.h"\n'
        '#include "core/remote/incoming.h"\n\n'
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
