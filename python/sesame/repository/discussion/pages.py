"""Pages of the discussion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from sesame.errors import InputError
from sesame.repository.accounts.forms import csrf_field, csrf_token
from sesame.repository.discussion import images, threads
from sesame.repository.discussion.cards import cards_of
from sesame.repository.discussion.feed import MEDIA_TYPE, Item, atom
from sesame.repository.discussion.markdown import parse, render
from sesame.repository.discussion.notify import base_of, notify
from sesame.repository.discussion.picture import draw
from sesame.repository.discussion.places import Subject, find_place, read_place
from sesame.repository.discussion.shown import shown
from sesame.repository.discussion.threads import Message, Thread
from sesame.repository.page import page
from sesame.repository.store import Reader, Repository
from sesame.repository.uploads.mail import queue_mail

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("search.js", "talk.js")
MOST_FILES = 4  # images that a form without JavaScript sends
FORM_BYTES = 1 << 20  # of a field
PRIVATE = {"cache-control": "private, max-age=3600"}


def routes(repository: Repository) -> list[Route]:
    made = _Pages(repository)
    one, message = "/talk/{thread:str}", "/talk/message/{message:str}"
    get, post = ["GET"], ["POST"]
    return [
        Route("/talk", lambda _: RedirectResponse("/talk/", 308), methods=get),
        Route("/talk/", made.in_thread(made.overview), methods=get),
        Route("/talk/feed.atom", made.in_thread(made.feed), methods=get),
        Route("/talk/new", made.in_thread(made.new), methods=get),
        Route("/talk/new", made.with_form(made.start), methods=post),
        Route("/talk/preview", made.with_form(made.preview), methods=post),
        Route("/talk/images", made.paste, methods=post),
        Route("/talk/images/{image:str}", made.in_thread(made.image), methods=get),
        Route("/talk/picture/{thing:str}", made.in_thread(made.picture), methods=get),
        Route(f"{message}/edit", made.in_thread(made.edit_form), methods=get),
        Route(f"{message}/edit", made.with_form(made.edit), methods=post),
        Route(f"{message}/hide", made.with_form(made.hide_message), methods=post),
        Route(one, made.in_thread(made.show), methods=get),
        Route(one, made.with_form(made.reply), methods=post),
        Route(f"{one}/feed.atom", made.in_thread(made.feed), methods=get),
        Route(f"{one}/watch", made.with_form(made.watch), methods=post),
        Route(f"{one}/moderate", made.with_form(made.moderate), methods=post),
    ]


class _Pages:
    """Each page is a function of the request, in a thread of its own; with a form also of its
    fields."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def in_thread(self, show: Any) -> Any:
        async def answer(request: Request) -> Response:
            made: Response = await run_in_threadpool(show, request)
            return made

        return answer

    def with_form(self, act: Any) -> Any:
        async def answer(request: Request) -> Response:
            if request.state.reader is None:
                return RedirectResponse("/sign-in", 303)
            async with request.form(
                max_files=MOST_FILES, max_fields=20, max_part_size=FORM_BYTES
            ) as form:
                pasted = await _files(form)
                made: Response = await run_in_threadpool(act, request, form, pasted)
                return made

        return answer

    # Reading

    def overview(self, request: Request) -> Response:
        place = _place_of(request)
        at = _page_number(request)
        about = place.things[0] if place is not None and place.things else None
        if about is not None and self.repository.readable(request.state.reader, about) is None:
            raise HTTPException(404)
        found = threads.list_threads(self.repository, request.state.reader, about, at)
        return self._page(
            request,
            "talk.html",
            threads=found[: threads.PAGE],
            has_more=len(found) > threads.PAGE,
            at=at,
            place=place,
            cards=self._cards(request, [one.place for one in found] + [_address(place)]),
        )

    def show(self, request: Request) -> Response:
        return self._thread_page(request, self._thread(request))

    def _thread_page(
        self, request: Request, thread: Thread, text: str = "", wrong: str = "", status: int = 200
    ) -> Response:
        reader = request.state.reader
        found = threads.messages_of(self.repository, thread)
        cards = self._cards(request, [thread.place])
        return self._page(
            request,
            "thread.html",
            status=status,
            thread=thread,
            about=cards.get(thread.place),
            messages=shown(self.repository, reader, found, request.url.netloc),
            is_watching=threads.is_watching(self.repository, thread.id, reader),
            text=text,
            wrong=wrong,
        )

    def feed(self, request: Request) -> Response:
        reader = request.state.reader
        base = base_of(request)
        if "thread" in request.path_params:
            found = [self._thread(request)]
            title = found[0].title
        else:
            place = _place_of(request)
            about = place.things[0] if place is not None and place.things else None
            if about is not None and self.repository.readable(reader, about) is None:
                raise HTTPException(404)
            found = threads.list_threads(self.repository, reader, about)
            title = f"Discussion: {request.app.state.site_title}"
        titles = {one.id: one.title for one in found}
        latest = threads.latest_messages(self.repository, reader, list(titles))
        items = [
            Item(
                one.message.address,
                titles[one.message.thread],
                one.message.author_name,
                one.message.created,
                one.message.edited or one.message.created,
                str(one.html),
            )
            for one in shown(self.repository, reader, latest, request.url.netloc)
        ]
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return Response(atom(base, address, title, items), media_type=MEDIA_TYPE)

    def image(self, request: Request) -> Response:
        reader = request.state.reader
        found = images.open_image(self.repository, reader, request.path_params["image"])
        if found is None:
            raise HTTPException(404)
        kind, stream = found
        with stream:
            data = stream.read()
        return Response(data, media_type=kind, headers=PRIVATE)

    def picture(self, request: Request) -> Response:
        thing = self.repository.readable(request.state.reader, request.path_params["thing"])
        if thing is None:
            raise HTTPException(404)
        with self.repository.connection() as connection:
            version = self.repository.things.version(connection, thing.id)
        types = (version.info.get("record_types") or {}) if version is not None else {}
        counts = [(str(name), int(one.get("rows", 0))) for name, one in types.items()]
        return Response(draw(counts), media_type="image/png", headers=PRIVATE)

    # Writing

    def new(self, request: Request) -> Response:
        self._contributor(request)
        return self._new_page(request, _place_of(request))

    def _new_page(
        self,
        request: Request,
        place: Subject | None,
        *,
        title: str = "",
        text: str = "",
        about: str = "",
        wrong: str = "",
    ) -> Response:
        return self._page(
            request,
            "new.html",
            status=400 if wrong else 200,
            place=place,
            card=self._cards(request, [_address(place)]).get(_address(place)),
            title=title,
            text=text,
            about=about or _address(place),
            wrong=wrong,
        )

    def start(self, request: Request, form: FormData, pasted: list[bytes]) -> Response:
        reader = self._contributor(request)
        title, text, about = (_text(form, name) for name in ("title", "text", "about"))
        place: Subject | None = None
        try:
            place = read_place(about, request.url.netloc) if about else None
            text = self._with_images(reader, text, pasted)
            message = threads.start_thread(self.repository, reader, title, text, place)
        except InputError as error:
            return self._new_page(
                request, place, title=title, text=text, about=about, wrong=_said(error)
            )
        return self._written(request, message)

    def reply(self, request: Request, form: FormData, pasted: list[bytes]) -> Response:
        reader = self._contributor(request)
        thread, text = self._thread(request), _text(form, "text")
        try:
            text = self._with_images(reader, text, pasted)
            message = threads.reply(self.repository, reader, thread, text)
        except InputError as error:
            return self._thread_page(request, thread, text, _said(error), 400)
        return self._written(request, message)

    def _written(self, request: Request, message: Message) -> Response:
        thread = threads.get_thread(self.repository, request.state.reader, message.thread)
        if thread is not None:
            base = base_of(request)
            notify(self.repository, queue_mail, thread, message, base)
        return RedirectResponse(message.address, 303)

    def edit_form(self, request: Request) -> Response:
        message = self._own_message(request)
        return self._page(request, "edit.html", message=message, text=message.text, wrong="")

    def edit(self, request: Request, form: FormData, pasted: list[bytes]) -> Response:
        reader = self._contributor(request)
        message, text = self._own_message(request), _text(form, "text")
        try:
            text = self._with_images(reader, text, pasted)
            threads.edit(self.repository, reader, message, text)
        except InputError as error:
            content = {"message": message, "text": text, "wrong": _said(error)}
            return self._page(request, "edit.html", status=400, **content)
        return RedirectResponse(message.address, 303)

    def preview(self, request: Request, form: FormData, _: list[bytes]) -> Response:
        self._contributor(request)
        parsed = parse(_text(form, "text")[: threads.MOST_TEXT], request.url.netloc)
        cards = cards_of(self.repository, request.state.reader, parsed.places)
        titles = {address: card.title for address, card in cards.items()}
        return JSONResponse({"html": str(render(parsed, titles))})

    async def paste(self, request: Request) -> Response:
        """An image as the body of a request: what a script sends when one is pasted."""
        reader = request.state.reader
        if reader is None or not reader.may_contribute:
            raise HTTPException(403)
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > images.MOST_BYTES:
                raise HTTPException(413, f"an image has at most {images.MOST_BYTES >> 20} MiB")
        try:
            identifier = await run_in_threadpool(images.keep, self.repository, reader, bytes(data))
        except InputError as error:
            return JSONResponse({"error": error.message, "hint": error.hint}, 400)
        return JSONResponse({"address": f"/talk/images/{identifier}"}, 201)

    def _with_images(self, reader: Reader, text: str, pasted: list[bytes]) -> str:
        added = [images.keep(self.repository, reader, one) for one in pasted]
        return "\n\n".join([text, *(f"![image](/talk/images/{one})" for one in added)])

    def watch(self, request: Request, form: FormData, _: list[bytes]) -> Response:
        thread = self._thread(request)
        with self.repository.connection() as connection:
            wanted = _text(form, "watch") == "yes"
            threads.watch(connection, thread.id, request.state.reader, wanted)
        return RedirectResponse(thread.address, 303)

    # Moderation

    def moderate(self, request: Request, form: FormData, _: list[bytes]) -> Response:
        self._reviewer(request)
        thread, what = self._thread(request), _text(form, "what")
        if what in ("lock", "unlock"):
            threads.set_locked(self.repository, thread, what == "lock")
        elif what in ("hide", "unhide"):
            threads.hide_thread(self.repository, thread, what == "hide")
        else:
            raise HTTPException(400, "expected lock, unlock, hide or unhide")
        return RedirectResponse(thread.address, 303)

    def hide_message(self, request: Request, form: FormData, _: list[bytes]) -> Response:
        self._reviewer(request)
        message = self._message(request)
        is_hidden = _text(form, "what") == "hide"
        threads.hide_message(self.repository, message, is_hidden, _text(form, "reason"))
        return RedirectResponse(message.address, 303)

    # Who, and what

    def _contributor(self, request: Request) -> Reader:
        reader: Reader | None = request.state.reader
        if reader is None or not reader.may_contribute:
            raise HTTPException(403, "Sign in as a contributor to write messages.")
        return reader

    def _reviewer(self, request: Request) -> None:
        if request.state.reader is None or not request.state.reader.may_review:
            raise HTTPException(403)

    def _thread(self, request: Request) -> Thread:
        found = threads.get_thread(
            self.repository, request.state.reader, request.path_params["thread"]
        )
        if found is None:
            raise HTTPException(404)
        return found

    def _message(self, request: Request) -> Message:
        found = threads.get_message(
            self.repository, request.state.reader, request.path_params["message"]
        )
        if found is None:
            raise HTTPException(404)
        return found

    def _own_message(self, request: Request) -> Message:
        message = self._message(request)
        reader = self._contributor(request)
        if message.author != reader.id or message.hidden:
            raise HTTPException(403, "Only its author may change a message.")
        return message

    def _cards(self, request: Request, addresses: list[str]) -> dict[str, Any]:
        places = [place for one in addresses if one and (place := find_place(one))]
        return cards_of(self.repository, request.state.reader, places)

    def _page(self, request: Request, name: str, **content: Any) -> Response:
        return page(
            request,
            name,
            directory=TEMPLATES,
            scripts=SCRIPTS,
            csrf=csrf_field(request),
            csrf_token=csrf_token(request),
            most_text=threads.MOST_TEXT,
            **content,
        )


def _place_of(request: Request) -> Subject | None:
    """The place that the address names (`about=`). Raises InputError."""
    about = request.query_params.get("about", "")
    return read_place(about, request.url.netloc) if about else None


def _address(place: Subject | None) -> str:
    return place.address if place is not None else ""


def _page_number(request: Request) -> int:
    text = request.query_params.get("page", "1")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 5 else 1


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


async def _files(form: FormData) -> list[bytes]:
    found = []
    for value in form.getlist("image"):
        if isinstance(value, UploadFile) and value.size:
            if value.size > images.MOST_BYTES:
                raise HTTPException(413, f"an image has at most {images.MOST_BYTES >> 20} MiB")
            found.append(await value.read())
    return found


def _said(error: InputError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else error.message
