"""The table of docs/formats/repository-api.md, as the real description of the API has it.

`python -m tests.python.repository_api_rows` writes the table into the page.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.testclient import TestClient

from sesame.repository.app import make_app
from sesame.repository.store import Repository

PAGE = Path(__file__).resolve().parents[2] / "docs/formats/repository-api.md"
HEAD = "| request | parameters | body | what it does |\n|---|---|---|---|\n"


def described() -> dict[str, Any]:
    with TemporaryDirectory() as directory:
        repository = Repository.in_directory(Path(directory))
        found = TestClient(make_app(repository)).get("/api/v1/openapi.json").json()
        repository.close()
    return dict(found)


def table(description: dict[str, Any]) -> str:
    rows = [
        _row(method, path, operation, description)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(method: str, path: str, operation: Any, description: Any) -> tuple[str, ...]:
    given = [_parameter(one) for one in operation.get("parameters", []) if one["in"] != "path"]
    about = " ".join(operation.get("description", "").split()).replace("|", "\\|")
    return (
        f"`{method.upper()} /api/v1{path}`",
        ", ".join(given),
        _body(operation.get("requestBody", {}).get("content", {}), description),
        about,
    )


def _parameter(one: Any) -> str:
    where = " (header)" if one["in"] == "header" else ""
    return f"`{one['name']}`{where}" + (", required" if one.get("required") else "")


def _body(content: Any, description: Any) -> str:
    """The fields of a JSON body, those that are required in bold; else its media types."""
    schema = content.get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    if not name:
        return ", ".join(f"`{one}`" for one in content)
    model = description["components"]["schemas"][name]
    required = model.get("required", ())
    names = (f"**`{one}`**" if one in required else f"`{one}`" for one in model["properties"])
    return ", ".join(names)


def table_of_page() -> str:
    found = re.search(re.escape(HEAD) + r"(?:\|.*\n)*", PAGE.read_text(encoding="utf-8"))
    return found[0] if found else ""


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(table_of_page(), table(described())), encoding="utf-8")
