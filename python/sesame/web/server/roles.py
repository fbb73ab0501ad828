"""Roles of clients, and what each permits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, StrEnum, auto


class Permission(Flag):
    READ = auto()  # requests that change nothing
    PHASE = auto()  # phases of a program, and the counts of a point
    CONTROL = auto()  # levels, intervals, size groups
    ADMINISTER = auto()  # the destination
    DELIVER = auto()  # readings of the node with the client's name
    RELAY = auto()  # readings of all nodes
    CONTRIBUTE = auto()  # uploads to a repository, and messages there
    REVIEW = auto()  # what others uploaded: read it while it waits, accept or refuse it


ANY = ~Permission(0)


class Role(StrEnum):
    READER = "reader"
    PHASES = "phases"
    NODE = "node"
    RELAY = "relay"
    OPERATOR = "operator"
    CONTRIBUTOR = "contributor"
    REVIEWER = "reviewer"
    ADMINISTRATOR = "administrator"


OF_NODES = (  # of daemons and collectors
    Role.READER,
    Role.PHASES,
    Role.NODE,
    Role.RELAY,
    Role.OPERATOR,
    Role.ADMINISTRATOR,
)
# Of a repository, each permits what those before it permit.
OF_REPOSITORY = (Role.READER, Role.CONTRIBUTOR, Role.REVIEWER, Role.ADMINISTRATOR)

PERMISSIONS = {
    Role.READER: Permission.READ,
    Role.PHASES: Permission.PHASE,
    Role.NODE: Permission.DELIVER,
    Role.RELAY: Permission.DELIVER | Permission.RELAY,
    Role.OPERATOR: Permission.READ | Permission.PHASE | Permission.CONTROL,
    Role.CONTRIBUTOR: Permission.READ | Permission.CONTRIBUTE,
    Role.REVIEWER: Permission.READ | Permission.CONTRIBUTE | Permission.REVIEW,
    Role.ADMINISTRATOR: ANY,
}


@dataclass(frozen=True)
class Client:
    """Who sent a request: the name of its token or certificate."""

    name: str
    role: Role

    def may(self, wanted: Permission) -> bool:
        """Whether the role permits one of `wanted`."""
        return bool(PERMISSIONS[self.role] & wanted)

    def may_write_as(self, node: str) -> bool:
        """Whether it may deliver readings of this node."""
        return self.may(Permission.RELAY) or (self.may(Permission.DELIVER) and self.name == node)
