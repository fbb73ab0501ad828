"""Optional packages, which `pip install 'sesame-hpc[EXTRA]'` installs."""

from __future__ import annotations

from importlib.util import find_spec

from sesame.errors import InputError

DISTRIBUTION = "sesame-hpc"
PACKAGES = {
    "daemon": ("fastjsonschema", "httptools", "hypercorn", "prometheus_client", "starlette"),
    "exchange": ("darshan", "otf2"),
    "matrices": ("scipy",),
    "notebook": ("ipykernel", "pandas", "polars"),
    "overhead": ("scipy",),
    "plot": ("matplotlib",),
    "postgresql": ("psycopg",),
    "repository": (
        "alembic",
        "argon2",
        "duckdb",
        "fastapi",
        "fsspec",
        "httpx2",
        "hypercorn",
        "httptools",
        "joserfc",
        "linkify_it",
        "markdown_it",
        "nh3",
        "PIL",
        "pydantic",
        "python_multipart",
        "sqlalchemy",
        "starlette",
    ),
    "s3": ("s3fs",),
    "sql": ("duckdb",),
}


def require(extra: str, purpose: str, *packages: str) -> None:
    """Raises InputError, with the command that installs the extra, if one of `packages` is missing
    (by default any package of the extra). Imports nothing. `purpose` is the subject of the message.
    """
    missing = [name for name in packages or PACKAGES[extra] if not _is_installed(name)]
    if missing:
        noun = "packages" if len(missing) > 1 else "package"
        raise InputError(
            f"{purpose} needs the Python {noun} {', '.join(missing)}", hint=command_for(extra)
        )


def command_for(extra: str) -> str:
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ModuleNotFoundError, ValueError):  # refused by a finder; a module without its spec
        return False
