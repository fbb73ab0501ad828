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
OccupancySimulation = _native.OccupancySimulation
TraceWriter = _native.TraceWriter
draw_lengths = _native.draw_lengths
machine_keys = _native.machine_keys
parse_duration_ps = _native.parse_duration_ps
parse_size_bytes = _native.parse_size_bytes
ping_pong_table = _native.ping_pong_table
random_words = _native.random_words
read_machine = _native.read_machine
record_types = _native.record_types
write_table = _native.write_table
