"""The core as Python sees it. The only module that imports the binding."""

try:
    from sesame import _native
except ImportError as error:
    raise ImportError(
        f"the native part of sesame is missing or does not fit this Python ({error}); "
        "in a source tree run `make build`"
    ) from error

Collation = _native.Collation
Network = _native.Network
RawReader = _native.RawReader
TraceWriter = _native.TraceWriter
machine_keys = _native.machine_keys
parse_duration_ps = _native.parse_duration_ps
parse_size_bytes = _native.parse_size_bytes
ping_pong_table = _native.ping_pong_table
read_call_names = _native.read_call_names
read_machine = _native.read_machine
record_types = _native.record_types
