"""Run by Alembic, with the connection of `migrate.upgrade`."""

from alembic import context

from sesame.repository.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
