"""The operations of a server: a table from which requests are checked and described.

FastAPI would do both, but needs 14 MB of memory on each node. Here a JSON schema of each body is
compiled to a check by fastjsonschema, and stands in the description (`description`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import fastjsonschema
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sesame.errors import InputError

Schema = Mapping[str, Any]
JSON = "application/json"
# In later drafts 1.0 is an integer, too; it would not be one for Python.
DRAFT = {"$schema": "http://json-schema.org/draft-04/schema#"}
LARGEST_DIGITS = 18  # of integers in a query
MOST_SHOWN = 60  # characters of a wrong value in a message


@dataclass(frozen=True)
class Given:
    """What a request gives, checked."""

    request: Request
    query: Mapping[str, Any]
    body: Any
    """JSON that fits the schema; bytes if the body is of another type."""

    @property
    def path(self) -> Mapping[str, str]:
        return self.request.path_params


Handler = Callable[[Given], Awaitable[Any]]


@dataclass(frozen=True)
class Body:
    """`schema`: of JSON; other types are not checked."""

    schema: Schema
    media: str = JSON


@dataclass(frozen=True)
class Operation:
    """Its name and its meaning are those of the handler."""

    method: str
    path: str
    handler: Handler
    body: Body | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    """Schemas of parameters, each with a default: integers or strings."""
    status: int = 200
    media: str = JSON
    """Of the answer."""
    is_routine: bool = False
    """Frequent requests: the audit log has only the refused ones."""

    def route(self) -> Route:
        read = _reader_of(self.body)

        async def endpoint(request: Request) -> Response:
            if self.is_routine:
                request.scope["sesame.routine"] = True
            query = {
                name: _parameter(name, schema, request.query_params.get(name))
                for name, schema in self.query.items()
            }
            answer = await self.handler(Given(request, query, await read(request)))
            return answer if isinstance(answer, Response) else JSONResponse(answer, self.status)

        return Route(self.path, endpoint, methods=[self.method])


class Operations(list[Operation]):
    """A table of operations, filled by the decorator `add`."""

    def add(self, method: str, path: str, **more: Any) -> Callable[[Handler], Handler]:
        """Adds the decorated handler. `more`: as in Operation."""

        def decorate(handler: Handler) -> Handler:
            self.append(Operation(method, path, handler, **more))
            return handler

        return decorate


def record(required: tuple[str, ...] = (), **properties: Schema) -> Body:
    """A JSON object with no other properties than these. Those with a default get it."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return Body({**schema, "required": list(required)} if required else schema)


def _reader_of(body: Body | None) -> Callable[[Request], Awaitable[Any]]:
    """Reads and checks the body of a request. Raises HTTPException or InputError."""

    async def nothing(_: Request) -> None:
        return None

    if body is None:
        return nothing
    check = fastjsonschema.compile({**DRAFT, **body.schema}) if body.media == JSON else None

    async def read(request: Request) -> Any:
        try:
            content = await request.body()
        except ClientDisconnect:
            raise HTTPException(400, "the request was cut off") from None
        return content if check is None else _checked(content, check)

    return read


def _checked(content: bytes, check: Callable[[Any], Any]) -> Any:
    try:
        value = json.loads(content, parse_constant=_not_json)
        json.dumps(value, ensure_ascii=False).encode()  # no half of a character
    except (ValueError, RecursionError) as error:
        raise InputError(f"the body is not JSON: {str(error)[:MOST_SHOWN]}") from None
    try:
        return check(value)
    except fastjsonschema.JsonSchemaValueException as error:
        name = str(error.name)
        place = name.removeprefix("data").lstrip(".")[:MOST_SHOWN]
        text = error.message.removeprefix(name).strip()[:MOST_SHOWN]
        shown = repr(error.value)
        got = f", got {shown}" if len(shown) <= MOST_SHOWN else ""
        raise InputError(f"{place or 'the body'}: {text}{got}") from None


def _not_json(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _parameter(name: str, schema: Schema, text: str | None) -> Any:
    if text is None:
        return schema["default"]
    if schema["type"] == "string":
        return text
    if not re.fullmatch(rf"-?[0-9]{{1,{LARGEST_DIGITS}}}", text):
        raise InputError(f"{name}: expected an integer, got {text[:MOST_SHOWN]!r}")
    return int(text)
