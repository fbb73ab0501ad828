"""Brings the tables of a database up to this version, with Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(engine: Engine) -> None:
    """Runs the migrations that the database lacks. Raises SQLAlchemyError."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":  # several workers may start at once
            connection.exec_driver_sql("select pg_advisory_xact_lock(7361)")
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
