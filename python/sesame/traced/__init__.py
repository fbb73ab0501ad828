"""Shared by all readers of traced runs: what each call does, the members of communicators, and the
matching of sends and receives."""
