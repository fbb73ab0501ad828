"""Pages of record types: `/records` lists them, `/records/TYPE` documents one, with every data set
that has it and every analysis that takes it."""

from sesame.repository.records.routes import routes

__all__ = ["routes"]
