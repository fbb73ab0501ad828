"""The discussion's part of the API."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request

from sesame.repository.discussion import threads
from sesame.repository.discussion.notify import base_of, notify
from sesame.repository.discussion.places import read_place
from sesame.repository.discussion.shown import shown
from sesame.repository.discussion.threads import MOST_TEXT, MOST_TITLE, Message, Thread
from sesame.repository.store import Reader, Repository
from sesame.repository.uploads.mail import queue_mail

Responses = dict[int | str, dict[str, Any]]
Identifier = Annotated[str, Path(pattern="^[0-9a-z]{8}$")]
NOT_FOUND: Responses = {404: {"description": "There is no such thing, or you may not read it"}}
REFUSED: Responses = {
    400: {"description": "What was sent is wrong; the answer says why"},
    403: {"description": "You may not write messages"},
    **NOT_FOUND,
}


class ThreadAnswer(BaseModel):
    id: str
    address: str
    title: str
    about: str
    author: str
    created: str
    last: str
    messages: int
    locked: bool


class MessageAnswer(BaseModel):
    id: str
    address: str
    author: str
    created: str
    edited: str | None
    text: str
    html: str


class WholeThreadAnswer(BaseModel):
    thread: ThreadAnswer
    messages: list[MessageAnswer]


class NewThreadBody(BaseModel):
    title: str = Field(max_length=MOST_TITLE)
    text: str = Field(max_length=MOST_TEXT)
    about: str = Field(default="", max_length=2000)


class NewMessageBody(BaseModel):
    text: str = Field(max_length=MOST_TEXT)


def api(repository: Repository) -> APIRouter:
    router = APIRouter()

    @router.get("/threads", responses=REFUSED)
    def list_threads(
        request: Request,
        about: Annotated[str, Query(max_length=2000)] = "",
        page: Annotated[int, Query(ge=1, le=1000)] = 1,
    ) -> list[ThreadAnswer]:
        """Threads, the most recent first, 50 a page; `about`: the address of a thing."""
        place = read_place(about, request.url.netloc) if about else None
        thing = place.things[0] if place is not None and place.things else None
        if thing is not None and repository.readable(request.state.reader, thing) is None:
            raise HTTPException(404)
        found = threads.list_threads(repository, request.state.reader, thing, page)
        return [_thread(one) for one in found[: threads.PAGE]]

    @router.post("/threads", status_code=201, responses=REFUSED)
    def start_thread(request: Request, body: NewThreadBody) -> MessageAnswer:
        """Starts a thread about an address of this repository, or about nothing."""
        reader = _contributor(request)
        place = read_place(body.about, request.url.netloc) if body.about else None
        made = threads.start_thread(repository, reader, body.title, body.text, place)
        return _written(repository, request, made)

    @router.get("/threads/{thread}", responses=NOT_FOUND)
    def show_thread(request: Request, thread: Identifier) -> WholeThreadAnswer:
        """A thread with its messages, as Markdown and as HTML."""
        found = _readable(repository, request, thread)
        messages = threads.messages_of(repository, found)
        return WholeThreadAnswer(
            thread=_thread(found), messages=_messages(repository, request, messages)
        )

    @router.post("/threads/{thread}/messages", status_code=201, responses=REFUSED)
    def reply(request: Request, thread: Identifier, body: NewMessageBody) -> MessageAnswer:
        """Adds a message."""
        reader = _contributor(request)
        found = _readable(repository, request, thread)
        return _written(repository, request, threads.reply(repository, reader, found, body.text))

    return router


def _contributor(request: Request) -> Reader:
    reader: Reader | None = request.state.reader
    if reader is None or not reader.may_contribute:
        raise HTTPException(403, "Messages are written with a contributor's token.")
    return reader


def _readable(repository: Repository, request: Request, thread: str) -> Thread:
    found = threads.get_thread(repository, request.state.reader, thread)
    if found is None:
        raise HTTPException(404)
    return found


def _written(repository: Repository, request: Request, made: Message) -> MessageAnswer:
    thread = _readable(repository, request, made.thread)
    notify(repository, queue_mail, thread, made, base_of(request))
    return _messages(repository, request, [made])[0]


def _thread(one: Thread) -> ThreadAnswer:
    return ThreadAnswer(
        id=one.id,
        address=one.address,
        title=one.title,
        about=one.place,
        author=one.author_name,
        created=one.created.isoformat(),
        last=one.last.isoformat(),
        messages=one.messages,
        locked=one.locked,
    )


def _messages(
    repository: Repository, request: Request, found: list[Message]
) -> list[MessageAnswer]:
    """Hidden messages are left out, also for reviewers, who see them on the page."""
    visible = [one for one in found if not one.hidden]
    return [
        MessageAnswer(
            id=one.message.id,
            address=one.message.address,
            author=one.message.author_name,
            created=one.message.created.isoformat(),
            edited=one.message.edited.isoformat() if one.message.edited else None,
            text=one.message.text,
            html=str(one.html),
        )
        for one in shown(repository, request.state.reader, visible, request.url.netloc)
    ]
