"""The HTTP API of uploads.

`POST /uploads` announces the files with sizes and hashes and answers with what is missing; the same
request again continues. `PATCH /uploads/ID/files/N` appends to a file at `Upload-Offset`; `POST
/uploads/ID/finish` begins the import, whose end `GET /uploads/ID` reports.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Path
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from sesame.repository.accounts.account import Account
from sesame.repository.store import Repository
from sesame.repository.uploads.manifest import LONGEST_PATH, MOST_FILES
from sesame.repository.uploads.request import LONGEST_DESCRIPTION
from sesame.repository.uploads.service import Upload, Uploads

Identifier = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
Number = Annotated[int, Path(ge=0, lt=MOST_FILES)]
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text}
    for status, text in {
        400: "Wrong input: `error` names it",
        401: "Not signed in",
        403: "Your role does not permit this",
        404: "There is no such upload of yours",
        409: "The file continues at another byte",
        413: "The body is too large",
        423: "Another request writes this file",
        507: "The server has no space",
    }.items()
}
OCTETS = {
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
}


class FileToSend(BaseModel):
    path: str = Field(max_length=LONGEST_PATH)
    bytes: int = Field(ge=0, lt=1 << 60, strict=True)
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$")


class NewUpload(BaseModel):
    """The fields of the form at /upload."""

    files: list[FileToSend] = Field(min_length=1, max_length=MOST_FILES)
    title: str = Field("", max_length=200)
    description: str = Field("", max_length=LONGEST_DESCRIPTION)
    licence: str = Field("", max_length=100)
    visibility: str = Field("private", max_length=20)
    public_from: str = Field("", max_length=40)
    library: str = Field("data", max_length=20)
    contact: str = Field("", max_length=200)
    contact_mail: str = Field("", max_length=254)
    kind: str = Field("", max_length=40)
    version_of: str = Field("", max_length=8)
    links: str = Field("", max_length=5000)


class MissingFile(BaseModel):
    number: int
    offset: int


class UploadAnswer(BaseModel):
    """`state`: receiving, importing, done or failed. `import_s`: how long reading the files took,
    `prepare_s`: making what pages need."""

    id: str
    state: str
    missing: list[MissingFile]
    error: str | None = None
    hint: str | None = None
    thing: str | None = None
    version: int | None = None
    address: str | None = None
    review: str | None = None
    import_s: float | None = None
    prepare_s: float | None = None


class Offset(BaseModel):
    offset: int


def account_of(request: Request) -> Account:
    """Raises HTTPException 401 for a request without an account."""
    reader = getattr(request.state, "reader", None)
    if not isinstance(reader, Account):
        raise HTTPException(401, "sign in, or send a token", {"www-authenticate": "Bearer"})
    return reader


def make_api(repository: Repository, uploads: Uploads) -> APIRouter:
    router = APIRouter(prefix="/uploads", responses=ERRORS)

    def answered(account: Account, upload: Upload) -> UploadAnswer:
        missing = [
            MissingFile(number=number, offset=offset)
            for number, offset in uploads.missing(account, upload)
        ]
        return UploadAnswer(id=upload.id, state=upload.state, missing=missing, **upload.result)

    @router.post("")
    def begin(request: Request, given: NewUpload) -> UploadAnswer:
        """Announces files, or continues the upload of the same files."""
        account = account_of(request)
        return answered(account, uploads.begin(account, given.model_dump()))

    @router.get("/{upload}")
    def show(request: Request, upload: Identifier) -> UploadAnswer:
        """The state of an upload, and which files are missing."""
        account = account_of(request)
        return answered(account, uploads.get(account, upload))

    @router.get("/{upload}/files/{number}")
    def show_file(request: Request, upload: Identifier, number: Number) -> Offset:
        """How many bytes of a file have arrived."""
        found = uploads.get(account_of(request), upload)
        return Offset(offset=uploads.offset(found, number))

    @router.patch("/{upload}/files/{number}", openapi_extra={"requestBody": OCTETS})
    async def append(
        request: Request,
        upload: Identifier,
        number: Number,
        upload_offset: Annotated[int, Header(ge=0, lt=1 << 60)],
    ) -> Offset:
        """Appends the body to a file."""
        found = await run_in_threadpool(uploads.get, account_of(request), upload)
        try:
            offset = await uploads.append(found, number, upload_offset, request.stream())
        except ClientDisconnect:  # what has arrived is kept
            raise HTTPException(400, "the request was cut off") from None
        return Offset(offset=offset)

    @router.post("/{upload}/finish")
    def finish(request: Request, upload: Identifier) -> UploadAnswer:
        """All files have arrived: they are checked and imported."""
        account = account_of(request)
        return answered(account, uploads.finish(account, uploads.get(account, upload)))

    @router.delete("/{upload}", status_code=204)
    def cancel(request: Request, upload: Identifier) -> None:
        """Removes an upload; what was made of it stays."""
        uploads.cancel(uploads.get(account_of(request), upload))

    return router
