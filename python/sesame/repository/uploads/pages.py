"""Pages: the upload form, one's uploads, review."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup
from sqlalchemy import RowMapping, select
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sesame.errors import InputError
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.forms import csrf_field, csrf_token
from sesame.repository.accounts.pages import account_of, fields_of
from sesame.repository.page import PAGE_TEMPLATES, page
from sesame.repository.store import LibraryItem, Reader, Repository, schema
from sesame.repository.uploads import review
from sesame.repository.uploads.request import LIBRARIES, VISIBILITIES
from sesame.web.page import template

HERE = Path(__file__).parent / "templates"
KINDS = ("data", "source code", "graphics", "text")
LICENCES = ("CC-BY-4.0", "CC0-1.0", "CC-BY-SA-4.0", "Apache-2.0", "MIT", "GPL-3.0-or-later")
MOST_SHOWN = 50


def routes(repository: Repository) -> list[Route]:
    def show_upload(request: Request) -> Response:
        if request.state.reader is None:
            return RedirectResponse("/sign-in?next=/upload", 303)
        return _upload_page(repository, request)

    def show_review(request: Request) -> Response:
        account = account_of(request)
        if not account.may_review:
            raise HTTPException(404)
        things = review.waiting(repository, account)
        owners = {one.owner: repository.account_name(one.owner) for one in things}
        return page(request, "review.html", directory=HERE, things=things, owners=owners)

    def show_decision(request: Request, error: InputError | None = None) -> Response:
        return _decision_page(repository, request, error)

    async def decide(request: Request) -> Response:
        account, fields = account_of(request), await fields_of(request)
        thing = await run_in_threadpool(repository.readable, account, request.path_params["thing"])
        if thing is None:
            raise HTTPException(404)
        site = request.app.state.address
        decision, reason = fields.get("decision", ""), fields.get("reason", "")
        try:
            if decision == review.AGAIN:
                await run_in_threadpool(review.answer, repository, account, thing, reason, site)
            else:
                await run_in_threadpool(
                    review.decide, repository, account, thing, decision, reason, site
                )
        except InputError as error:
            return await run_in_threadpool(show_decision, request, error)
        return RedirectResponse(thing.address, 303)

    return [
        Route("/upload", show_upload),
        Route("/review", show_review),
        Route("/review/{thing}", show_decision),
        Route("/review/{thing}", decide, methods=["POST"]),
    ]


def _upload_page(repository: Repository, request: Request) -> Response:
    account = account_of(request)
    if not account.may_contribute:
        raise HTTPException(403, "Your role permits no uploads; ask an administrator.")
    row = schema.upload.c
    query = select(schema.upload).where(row.account == account.id).order_by(row.created.desc())
    with repository.connection() as connection:
        uploads = connection.execute(query.limit(MOST_SHOWN)).mappings().all()
    return page(
        request,
        "upload.html",
        directory=HERE,
        scripts=("upload.js",),
        account=account,
        uploads=[_shown(one) for one in uploads],
        libraries=LIBRARIES,
        visibilities=VISIBILITIES,
        kinds=KINDS,
        licences=LICENCES,
        relations=schema.RELATIONS,
        version_of=request.query_params.get("version_of", "")[:8],
        csrf=csrf_token(request),
    )


def _shown(row: RowMapping) -> dict[str, str | None]:
    request, result = json.loads(row["request"]), json.loads(row["result"])
    when = datetime.fromtimestamp(row["created"], UTC)
    return {
        "title": request["title"] or request["version_of"],
        "state": row["state"],
        "address": result.get("address"),
        "error": result.get("error"),
        "when": when.strftime("%Y-%m-%d %H:%M"),
    }


def _may_decide(reader: Account, thing: LibraryItem) -> bool:
    return reader.may_review and (thing.owner != reader.id or reader.may_administer)


def _may_answer(reader: Account, thing: LibraryItem) -> bool:
    return thing.owner == reader.id and thing.state == review.ASKED


def _day(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d")


def _decision_page(
    repository: Repository, request: Request, error: InputError | None = None
) -> Response:
    account = account_of(request)
    thing = repository.readable(account, request.path_params["thing"])
    if thing is None or not (_may_decide(account, thing) or _may_answer(account, thing)):
        raise HTTPException(404)
    return page(
        request,
        "review_thing.html",
        directory=HERE,
        status=200 if error is None else 400,
        thing=thing,
        owner=repository.account_name(thing.owner),
        history=review.history(repository, thing),
        may_decide=_may_decide(account, thing),
        error=error,
        csrf=csrf_field(request),
        day=_day,
    )


def panel(repository: Repository, thing: LibraryItem, reader: Reader | None) -> Markup | None:
    """The review of a thing that is not accepted, for its owner and for reviewers."""
    if not isinstance(reader, Account) or thing.state == "accepted":
        return None
    if thing.owner != reader.id and not reader.may_review:
        return None
    shown = template("review_panel.html", HERE, PAGE_TEMPLATES).render(
        thing=thing,
        history=review.history(repository, thing),
        may_decide=_may_decide(reader, thing),
        may_answer=_may_answer(reader, thing),
        day=_day,
    )
    return Markup(shown)
