"""The first tables."""

from alembic import op

from sesame.repository.store import search_tables, talk_tables  # noqa: F401  add their tables
from sesame.repository.store.schema import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    METADATA.create_all(op.get_bind())
