"""Contact and file type of things. The first migration makes them in new databases."""

from alembic import op
from sqlalchemy import Column, Text, inspect

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    known = {one["name"] for one in inspect(op.get_bind()).get_columns("thing")}
    for name in ("contact", "contact_mail", "file_type"):
        if name not in known:
            op.add_column("thing", Column(name, Text, nullable=False, server_default=""))
