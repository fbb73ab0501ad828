"""Record types of measurements inside the kernel.

Times are nanoseconds since the measurement began, on the clock that the kernel calls monotonic.
"""

from __future__ import annotations

from sesame.datasets.fields import Field, RecordType

KERNEL_SUMMARY = RecordType(
    "kernel_summary",
    "Events of one kind at one instrumentation point of the kernel in one pull interval",
    (
        Field("begin_ns", "int64", "ns", "begin of the interval, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("node", "text", "", "the machine on which they were counted"),
        Field("subsystem", "text", "", "the subsystem"),
        Field("point", "text", "", "the instrumentation point"),
        Field("class", "text", "", "the kind of event; what there is depends on the subsystem"),
        Field("at_least_bytes", "uint64", "B", "the size group: sizes from this on"),
        Field("below_bytes", "uint64", "B", "and below this; 0: no limit, or no size groups"),
        Field("count", "uint64", "", "events"),
        Field("bytes", "uint64", "B", "their sizes together"),
        Field("timed", "uint64", "", "events whose duration was taken"),
        Field("duration_ns", "uint64", "ns", "their durations together"),
        Field("max_duration_ns", "uint64", "ns", "the longest of them"),
        Field(
            "detail", "uint8", "", "level of detail of the point: 1 count, 2 sampled, 3 duration"
        ),
        Field("active_ns", "int64", "ns", "time in the interval during which it was enabled"),
    ),
)

MEASUREMENT_COST = RecordType(
    "measurement_cost",
    "What measuring one subsystem cost in one pull interval",
    (
        Field("begin_ns", "int64", "ns", "begin of the interval, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("node", "text", "", "the machine"),
        Field("subsystem", "text", "", "the subsystem; or sesame: the process that measures"),
        Field("detail", "uint8", "", "level of detail: 1 count, 2 sampled, 3 duration"),
        Field("active_ns", "int64", "ns", "time in the interval during which it was enabled"),
        Field("events", "uint64", "", "events that it counted"),
        Field(
            "estimated_ns", "int64", "ns", "their estimated cost on the CPU where it was highest"
        ),
    ),
)

KERNEL_EVENT = RecordType(
    "kernel_event",
    "One event at an instrumentation point of the kernel",
    (
        Field("time_ns", "int64", "ns", "end of the event, since the begin of the data set"),
        Field("node", "name", "", "the machine"),
        Field("duration_ns", "uint64", "ns", "how long it took; 0 when that was not measured"),
        Field("subsystem", "name", "", "the subsystem"),
        Field("point", "name", "", "the instrumentation point"),
        Field("class", "name", "", "the kind of event; what there is depends on the subsystem"),
        Field("where", "uint64", "", "place of the event; what that is depends on the subsystem"),
        Field("bytes", "uint64", "B", "its size"),
        Field("what", "uint32", "", "what it concerns; what that is depends on the subsystem"),
        Field("pid", "uint32", "", "thread that was running; of sched, that which waited or ran"),
        Field("cpu", "uint16", "", "its CPU"),
        Field("process", "uint32", "", "the thread's process"),
        Field("command", "name", "", "the thread's name, which is the program's unless it was set"),
    ),
)

KERNEL_TRACE = RecordType(
    "kernel_trace",
    "Events of one node that arrived together, and how many before them are missing",
    (
        Field("begin_ns", "int64", "ns", "time of the first, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "when the node had gathered them"),
        Field("node", "text", "", "the machine"),
        Field("start", "text", "", "identifies the start of its daemon"),
        Field("seen", "uint64", "", "events that were to be traced since that start, with these"),
        Field("written", "uint64", "", "records of these in the data set"),
        Field("discarded", "uint64", "", "events since those before that have no record"),
        Field("offset_ns", "int64", "ns", "clock offset that was added to all times of the node"),
        Field(
            "uncertainty_ns",
            "uint64",
            "ns",
            "by how much the offset may be wrong, in either direction",
        ),
    ),
)

CPU_TIME = RecordType(
    "cpu_time",
    "What one CPU did in one pull interval; in steps of the kernel's clock, mostly 10 ms",
    (
        Field("begin_ns", "int64", "ns", "begin of the interval, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("node", "text", "", "the machine"),
        Field("cpu", "uint16", "", "the CPU"),
        Field("user_ns", "int64", "ns", "programs"),
        Field("nice_ns", "int64", "ns", "programs of lower priority"),
        Field("system_ns", "int64", "ns", "the kernel, for programs"),
        Field("idle_ns", "int64", "ns", "nothing"),
        Field(
            "iowait_ns", "int64", "ns", "nothing, while a task that ran here waited for a device"
        ),
        Field("irq_ns", "int64", "ns", "interrupts"),
        Field("softirq_ns", "int64", "ns", "work that interrupts deferred"),
        Field("steal_ns", "int64", "ns", "another virtual machine had the processor"),
    ),
)

KERNEL_PHASE = RecordType(
    "kernel_phase",
    "A phase of a program, which the program named",
    (
        Field("begin_ns", "int64", "ns", "its begin, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("node", "text", "", "the machine on which it was"),
        Field("name", "text", "", "the name that the program gave it"),
        Field("pid", "uint32", "", "the process"),
    ),
)
KERNEL_READING = RecordType(
    "kernel_reading",
    "One reading of one node: the clock offset of its records, and what was dropped",
    (
        Field("begin_ns", "int64", "ns", "begin of the interval, since the begin of the data set"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("node", "text", "", "the machine"),
        Field("start", "text", "", "identifies the start of its daemon"),
        Field("sequence", "uint64", "", "number of the reading since that start"),
        Field("dropped", "uint64", "", "readings since then that the full queue dropped"),
        Field("offset_ns", "int64", "ns", "clock offset that was added to all times of the node"),
        Field(
            "uncertainty_ns",
            "uint64",
            "ns",
            "by how much the offset may be wrong, in either direction",
        ),
        Field("cpu_ns", "uint64", "ns", "processor time that the daemon took in the interval"),
    ),
)

MEASURED_TYPES = (
    KERNEL_SUMMARY,
    KERNEL_EVENT,
    KERNEL_TRACE,
    CPU_TIME,
    MEASUREMENT_COST,
    KERNEL_PHASE,
    KERNEL_READING,
)
