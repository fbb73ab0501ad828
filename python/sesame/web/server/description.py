"""The description of a server's operations in the OpenAPI format, for `GET /openapi.json`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from sesame import __version__
from sesame.web.server.operations import Operation
from sesame.web.server.protection import REASONS

# Why a request was refused or failed, and what to do.
PROBLEM = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "hint": {"type": ["string", "null"]}},
    "required": ["error", "hint"],
}
PROBLEMS = {400: "the request is wrong", **REASONS, 507: "the server cannot write"}
BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "a token of the server (`sesame token add`)",
}


def describe(title: str, operations: Iterable[Operation]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _describe_one(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": paths,
        "components": {"schemas": {"Problem": PROBLEM}, "securitySchemes": {"Bearer": BEARER}},
        "security": [{"Bearer": []}],
    }


def _describe_one(one: Operation) -> dict[str, Any]:
    name = one.handler.__name__
    content: dict[str, Any] = {one.media: {"schema": {}}}
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    found = {
        "operationId": name,
        "summary": name.replace("_", " ").capitalize(),
        "description": inspect.getdoc(one.handler) or "",
        "parameters": [*_of_path(one), *_of_query(one)],
        "responses": {
            str(one.status): {"description": "done", "content": content},
            **{
                str(status): {"description": reason, "content": problem}
                for status, reason in PROBLEMS.items()
            },
        },
    }
    if one.body is not None:
        body = {one.body.media: {"schema": one.body.schema}}
        found["requestBody"] = {"required": True, "content": body}
    return found


def _of_path(one: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", one.path)
    ]


def _of_query(one: Operation) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": schema} for name, schema in one.query.items()]
