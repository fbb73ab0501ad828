"""Record types of a network whose cards and links messages share: what each carried in the run."""

from __future__ import annotations

from sesame.datasets.fields import Field, RecordType

LINK = RecordType(
    "link",
    "What one direction of one network card or link carried in a run in which messages share it",
    (
        Field("link", "int32", "", "number of the link in this run"),
        Field(
            "kind",
            "int32",
            "",
            "0: a card sends; 1: a card receives; others by topology: mesh, torus, HyperX: 2; fat "
            "tree: 2 + 2 level up, 3 + 2 level down; dragonfly: 2 between groups, 3 inside",
        ),
        Field(
            "number",
            "int64",
            "",
            "which of its kind: node; mesh, torus: node × 2 dimensions + direction; fat tree: the "
            "lower switch; HyperX: from router × sum of dims + dims of earlier dimensions + to "
            "coordinate; dragonfly: from group × groups + to group, or (group × routers + from "
            "router) × routers + to router",
        ),
        Field("port", "int32", "", "which of several parallel ones"),
        Field("messages", "uint64", "", "messages carried"),
        Field("bytes", "uint64", "B", "data carried"),
        Field("busy_s", "float64", "s", "simulated time in which it was busy"),
    ),
)

LINK_ACTIVITY = RecordType(
    "link_activity",
    "How long one card or link was busy in a slice of the run; of those beyond the 4,096 busiest "
    "the whole run is one slice",
    (
        Field("link", "int32", "", "number of the link, as in link"),
        Field("begin_s", "float64", "s", "simulated time at which the slice begins"),
        Field("length_s", "float64", "s", "length of the slice"),
        Field("busy_s", "float64", "s", "simulated time in it in which the link was busy"),
    ),
)

LINK_PAIR = RecordType(
    "link_pair",
    "Whose messages one card or link carried: the pairs of ranks with the most bytes, about",
    (
        Field("link", "int32", "", "number of the link, as in link"),
        Field("source", "int32", "rank", "the sender"),
        Field("destination", "int32", "rank", "the receiver"),
        Field("bytes", "uint64", "B", "data, at least: counted since the pair was last among them"),
    ),
)

LINK_TYPES = (LINK, LINK_ACTIVITY, LINK_PAIR)
