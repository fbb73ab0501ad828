"""The discussion of a repository: threads, Markdown, images, links, feed, mail, moderation."""

from __future__ import annotations

import io
import re
import struct
import zlib
from datetime import timedelta
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image, ImageDraw, PngImagePlugin
from sqlalchemy import select, update
from starlette.testclient import TestClient
from tests.python.new_repository import new_repository

from sesame.errors import InputError
from sesame.repository.accounts.sessions import AccessTokens, Sessions
from sesame.repository.accounts.store import Accounts
from sesame.repository.app import make_app
from sesame.repository.discussion import images, threads
from sesame.repository.discussion.markdown import parse, render
from sesame.repository.discussion.places import find_place, read_place
from sesame.repository.store import NewThing, Repository, schema
from sesame.repository.store.talk_tables import talk_message, talk_thread
from sesame.repository.store.things import NewVersion
from sesame.web.server.roles import Role

INFO = {"record_types": {"io": {"rows": 1200, "fields": []}, "mpi": {"rows": 3, "fields": []}}}


class Site:
    """A repository and browsers of its people."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.app = make_app(repository)
        self.accounts = {}

    def add_account(self, name: str, role: str = "contributor"):
        made = Accounts(self.repository.engine).add(name, None, Role(role))
        self.accounts[name] = made
        return made

    def browser(self, name: str | None = None) -> Browser:
        return Browser(self, name)

    def add_thing(self, owner: str, title: str, **more) -> str:
        values = {"visibility": "public", "state": "accepted", "library": "data", **more}
        with self.repository.connection() as connection:
            new = NewThing(owner=self.accounts[owner].id, title=title, **values)
            thing = self.repository.things.add(connection, new)
            self.repository.things.add_version(connection, thing.id, NewVersion([], INFO))
        return thing.id


class Browser:
    """Sends forms with the token that their page has."""

    def __init__(self, site: Site, name: str | None) -> None:
        self.client = TestClient(site.app, base_url="http://localhost", follow_redirects=False)
        if name is not None:
            session = Sessions(site.repository.engine).start(site.accounts[name])
            self.client.cookies.set("sesame", session)

    def get(self, address: str, **params):
        return self.client.get(address, params=params or None)

    def token(self, page: str = "/talk/new") -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get(page).text)
        assert found is not None
        return found[1]

    def post(self, address: str, page: str = "/talk/new", files=None, **fields: str):
        data = {"csrf": self.token(page), **fields}
        return self.client.post(address, data=data, files=files)

    def paste(self, data: bytes):
        headers = {"x-csrf-token": self.token()}
        return self.client.post("/talk/images", content=data, headers=headers)

    def start(self, title: str = "a title", text: str = "a text", about: str = "") -> str:
        answer = self.post("/talk/new", title=title, text=text, about=about)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].partition("#")[0]


@pytest.fixture
def site(tmp_path):
    repository = new_repository(tmp_path / "repository")
    made = Site(repository)
    for name, role in (("ann", "contributor"), ("bob", "contributor"), ("rita", "reviewer")):
        made.add_account(name, role)
    made.add_account("roy", "reader")
    yield made
    repository.close()


def picture(form: str = "PNG", size: tuple[int, int] = (64, 48), **options) -> bytes:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((8, 8, 30, 30), fill="red")
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


# Subjects


def test_a_place_is_an_address_with_the_things_in_it():
    place = read_place("/d/3f2k8abc/look?x=time&with=9x7w1def&n=1")
    assert (place.things, place.part) == (("3f2k8abc", "9x7w1def"), "look")
    assert place.address == "/d/3f2k8abc/look?x=time&with=9x7w1def&n=1"
    assert read_place("http://host:80/d/3f2k8abc", "host:80").address == "/d/3f2k8abc"
    assert read_place("/compare?d=3f2k8abc&d=9x7w1def").things == ("3f2k8abc", "9x7w1def")
    assert read_place("/d/3f2k8abc/v/2").part == ""
    assert read_place("/records/io").record_type == "io"
    assert read_place("/talk/3f2k8abc#m-9x7w1def").thread == "3f2k8abc"


NO_PLACES = [
    "",
    "x",
    "//evil.org/d/3f2k8abc",
    "http://evil.org/d/3f2k8abc",
    "javascript:alert(1)",
    "/etc/passwd",
    "/d/3f2k8abc/../../account",
    "/d/3f2k8abc/%2e%2e/x",
    "/d/UPPER000",
    "/d/3f2k8abc?a=\nb",
    "/account",
    "/d/3f2k8abc?" + "x" * 2000,
    "/d/3f2k8abc/a b",
    "/d/3f2k8abc?x=<script>",
    "http://[::1/d/3f2k8abc",
]


@pytest.mark.parametrize("text", NO_PLACES)
def test_nothing_else_is_a_place(text):
    assert find_place(text, "localhost") is None


# Markdown


def html(text: str, titles: dict[str, str] | None = None) -> str:
    return str(render(parse(text, "localhost"), titles or {}))


def test_addresses_in_a_text_become_links_with_titles():
    text = "See /d/3f2k8abc/look?x=1, http://localhost/d/9x7w1def. Not /d/short or a/d/3f2k8abc."
    made = html(text, {"/d/3f2k8abc/look?x=1": "A <run>", "/d/9x7w1def": "Another"})
    assert (
        '<a href="/d/3f2k8abc/look?x=1" rel="nofollow noopener noreferrer">A &lt;run&gt;</a>,'
        in made
    )
    assert '<a href="/d/9x7w1def" rel="nofollow noopener noreferrer">Another</a>.' in made
    assert made.count("<a ") == 2
    assert [place.things for place in parse(text, "localhost").places] == [
        ("3f2k8abc",),
        ("9x7w1def",),
    ]


def test_a_link_with_a_text_of_its_own_keeps_it():
    made = html("[my run](/d/3f2k8abc) and `/d/3f2k8abc`", {"/d/3f2k8abc": "A run"})
    assert ">my run</a>" in made and "<code>/d/3f2k8abc</code>" in made


def test_record_types_and_fields_lead_to_their_documentation():
    made = html("`io`, `io.duration_ns`, `io.nothing`, `nothing`")
    assert made.count('<a href="/records/io"') == 2


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "![x](javascript:alert(1))",
    '[x](/d/3f2k8abc "onmouseover=alert(1)")',
    '<a href="x" style="position:fixed">x</a>',
    "<svg onload=alert(1)>",
    "[x](<javascript:alert(1)>)",
    "[x](JaVaScRiPt:alert(1))",
    "<iframe src=//e>",
    "`<script>`",
    "| <b onclick=x> |\n|---|\n| y |",
    "&lt;script&gt;",
    "[x](&#106;avascript:alert(1))",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_no_text_becomes_code(text):
    made = html(text)
    tags = set(re.findall(r"<([a-z]+)", made))
    assert not tags & {"script", "iframe", "svg", "b", "style", "object", "form", "img"}
    found = re.findall(r"<[a-z][^>]*>", made)
    assert not [
        tag for tag in found if re.search(r"\son|style=|javascript:|data:|vbscript:", tag, re.I)
    ]


def test_images_of_other_servers_are_links():
    made = html("![cat](https://example.org/cat.png) ![own](/talk/images/0123456789abcdef)")
    assert made.count("<img") == 1 and 'src="/talk/images/0123456789abcdef"' in made
    assert '<a href="https://example.org/cat.png"' in made


def test_deep_nesting_and_long_texts_are_quick():
    for text in (
        ">" * 5000,
        "[" * 5000,
        "*a " * 5000,
        "`" * 5000,
        "/d/3f2k8abc " * 2000,
        "<" * 9000,
    ):
        assert len(html(text)) < 1 << 20


# Images


def test_an_image_is_encoded_anew_and_has_nothing_but_pixels():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "a secret")
    made = images.convert(picture(pnginfo=notes) + b"<script>behind the end</script>")
    assert (made.type, made.width, made.height) == ("image/png", 64, 48)
    assert b"secret" not in made.data and b"script" not in made.data
    with Image.open(io.BytesIO(made.data)) as again:
        assert again.getpixel((10, 10)) == (255, 0, 0) and again.getpixel((60, 40)) == (
            255,
            255,
            255,
        )
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    exif[0x010F] = "camera of ann"
    turned = images.convert(picture("JPEG", exif=exif))
    assert (turned.type, turned.width, turned.height) == ("image/jpeg", 48, 64)
    assert b"camera" not in turned.data
    assert (
        images.convert(picture("WEBP")).type == images.convert(picture("GIF")).type == "image/png"
    )
    assert images.convert(picture(size=(5000, 10))).width == 4096


def _png_of_size(width: int, height: int) -> bytes:
    """A small file that says to be a large picture."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    good = picture()
    return good[:8] + chunk + good[33:]


BAD_IMAGES = {
    "nothing": (b"", "no image"),
    "html": (b"<html><script>alert(1)</script>", "no image"),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "no image"),
    "pdf": (b"%PDF-1.4", "no image"),
    "cut off": (picture(size=(500, 500))[:300], "image"),
    "a bomb": (_png_of_size(30_000, 30_000), "pixels"),
    "a lying size": (_png_of_size(3_000, 3_000), "image"),
    "too long": (b"x" * (images.MOST_BYTES + 1), "at most 12 MiB"),
}


@pytest.mark.parametrize(("data", "said"), BAD_IMAGES.values(), ids=BAD_IMAGES)
def test_what_is_no_good_image_is_refused_in_words(data, said):
    with pytest.raises(InputError, match=said):
        images.convert(data)


def test_a_pasted_image_is_seen_by_those_who_may_read_its_message(site):
    private = site.add_thing("ann", "private", visibility="private")
    ann, bob, anonymous = site.browser("ann"), site.browser("bob"), site.browser()
    address = ann.paste(picture()).json()["address"]
    assert [who.get(address).status_code for who in (ann, bob, anonymous)] == [200, 404, 404]
    ann.start(text=f"![x]({address})", about=f"/d/{private}")
    assert [who.get(address).status_code for who in (ann, bob, anonymous)] == [200, 404, 404]
    thread = ann.start(text=f"![x]({address})")
    assert [who.get(address).status_code for who in (ann, bob, anonymous)] == [200, 200, 200]
    shown = anonymous.get(address)
    assert shown.headers["content-type"] == "image/png"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")
    assert f'src="{address}"' in anonymous.get(thread).text


def test_using_the_image_of_another_does_not_show_it(site):
    private = site.add_thing("ann", "private", visibility="private")
    ann, bob = site.browser("ann"), site.browser("bob")
    address = ann.paste(picture()).json()["address"]
    ann.start(text=f"![x]({address})", about=f"/d/{private}")
    bob.start(text=f"![x]({address})")
    assert bob.get(address).status_code == 404


def test_images_need_an_account_a_token_and_are_bounded(site, monkeypatch):
    ann = site.browser("ann")
    assert site.browser("roy").client.post("/talk/images", content=picture()).status_code == 403
    assert ann.client.post("/talk/images", content=picture()).status_code == 403  # without a token
    assert ann.paste(b"no image").status_code == 400
    monkeypatch.setattr(images, "MOST_BYTES", 1000)
    assert ann.paste(b"x" * 1001).status_code == 413
    monkeypatch.undo()
    monkeypatch.setattr(images, "MOST_A_DAY", 1)
    assert [ann.paste(picture()).status_code for _ in range(2)] == [201, 400]


def test_a_form_without_javascript_sends_images_too(site):
    ann = site.browser("ann")
    files = [("image", ("a.png", picture(), "image/png"))]
    answer = ann.post("/talk/new", files=files, title="with a file", text="look", about="")
    assert answer.status_code == 303
    assert re.search(r'<img src="/talk/images/\w{16}"', ann.get(answer.headers["location"]).text)


# Threads


def test_a_message_with_a_link_shows_title_and_picture_to_those_who_may_see_them(site):
    public = site.add_thing("ann", "A public run", description="what it is about")
    private = site.add_thing("ann", "Hush hush", visibility="private")
    ann, anonymous = site.browser("ann"), site.browser()
    text = f"Compare /d/{public}/look?x=1 with /d/{private}."
    thread = ann.start("two runs", text)
    for who, sees_private in ((ann, True), (anonymous, False)):
        shown = who.get(thread).text
        assert ">A public run</a>" in shown and f'src="/talk/picture/{public}"' in shown
        assert "what it is about" in shown
        assert ("Hush hush" in shown) == sees_private
        assert (f'src="/talk/picture/{private}"' in shown) == sees_private
    assert anonymous.get(f"/talk/picture/{private}").status_code == 404
    drawn = anonymous.get(f"/talk/picture/{public}")
    with Image.open(io.BytesIO(drawn.content)) as image:
        assert (image.format, image.size) == ("PNG", (320, 180))


def test_threads_of_things_are_seen_by_those_who_see_the_things(site):
    public = site.add_thing("ann", "public")
    private = site.add_thing("ann", "private", visibility="private")
    unlisted = site.add_thing("ann", "unlisted", visibility="unlisted")
    ann, bob, anonymous = site.browser("ann"), site.browser("bob"), site.browser()
    about = {
        "public": f"/d/{public}",
        "private": f"/d/{private}/look?x=1",
        "both": f"/compare?d={public}&d={private}",
        "unlisted": f"/d/{unlisted}",
    }
    made = {name: ann.start(f"on {name}", "quokka", place) for name, place in about.items()}
    for who in (bob, anonymous):
        status = {name: who.get(address).status_code for name, address in made.items()}
        assert status == {"public": 200, "private": 404, "both": 404, "unlisted": 200}
        for page in ("/talk/", "/talk/feed.atom", "/search?q=quokka", "/api/v1/threads"):
            text = who.get(page).text
            listed = {name for name in about if f"on {name}" in text}
            assert listed == {"public"}, page
        found = who.get("/api/v1/search", q="quokka").json()
        assert found["counts"] == {"message": 1}
        assert who.get("/talk/", about=f"/d/{private}").status_code == 404
        assert who.get("/talk/feed.atom", about=f"/d/{private}").status_code == 404
        assert who.get("/api/v1/threads", about=f"/d/{private}").status_code == 404
        api = who.get(made["private"].replace("/talk/", "/api/v1/threads/"))
        assert api.status_code == 404
    assert all(f"on {name}" in ann.get("/talk/").text for name in about)
    refused = bob.post("/talk/new", title="x", text="x", about=f"/d/{private}")
    assert refused.status_code == 400 and "no such thing, or you may not read it" in refused.text


def test_the_home_page_of_a_thing_lists_its_threads(site):
    thing = site.add_thing("ann", "a run")
    ann = site.browser("ann")
    thread = ann.start("why is it slow?", "it is", f"/d/{thing}/look?n=3")
    home = site.browser().get(f"/d/{thing}").text
    assert f'href="{thread}"' in home and "why is it slow?" in home
    assert "New thread" not in home and "New thread" in ann.get(f"/d/{thing}").text


def test_readers_and_outsiders_write_nothing(site):
    thread = site.browser("ann").start()
    roy, anonymous = site.browser("roy"), site.browser()
    assert roy.get("/talk/new").status_code == 403
    token = roy.token(thread)
    fields = {"csrf": token, "title": "x", "text": "x", "about": ""}
    assert roy.client.post("/talk/new", data=fields).status_code == 403
    assert roy.client.post(thread, data=fields).status_code == 403
    assert anonymous.client.post(thread, data={"text": "x"}).status_code in (303, 403)
    assert len(threads_of(site)) == 1 and len(messages(site)) == 1
    assert site.browser("ann").client.post(thread, data={"text": "forged"}).status_code == 403
    assert (
        anonymous.client.post("/api/v1/threads", json={"title": "x", "text": "y"}).status_code
        == 403
    )


def threads_of(site: Site) -> list:
    with site.repository.connection() as connection:
        return list(connection.execute(select(talk_thread)))


def messages(site: Site) -> list:
    with site.repository.connection() as connection:
        rows = connection.execute(select(talk_message).order_by(talk_message.c.created))
        return list(rows)


def test_messages_are_answered_and_changed_by_their_author_only(site):
    ann, bob = site.browser("ann"), site.browser("bob")
    thread = ann.start("title", "first")
    answer = bob.post(thread, text="second zebu")
    assert answer.status_code == 303
    identifier = answer.headers["location"].partition("#m-")[2]
    edit = f"/talk/message/{identifier}/edit"
    assert ann.get(edit).status_code == 403
    assert ann.post(edit, text="changed by ann").status_code == 403
    assert bob.post(edit, text="second okapi").status_code == 303
    shown = ann.get(thread).text
    assert "second okapi" in shown and "changed" in shown and "changed by ann" not in shown
    found = ann.get("/api/v1/search", q="okapi").json()["hits"]
    assert [hit["address"] for hit in found] == [f"{thread}#m-{identifier}"]
    assert ann.get("/api/v1/search", q="zebu").json()["hits"] == []
    assert [row.messages for row in threads_of(site)] == [2]


def test_wrong_messages_are_refused_and_nothing_is_lost(site):
    ann = site.browser("ann")
    thread = ann.start()
    for fields, said in (
        ({"title": "x", "text": " ", "about": ""}, "the message is empty"),
        ({"title": "", "text": "kept <text>", "about": ""}, "the title is empty"),
        ({"title": "x" * 201, "text": "y", "about": ""}, "at most 200 are kept"),
        ({"title": "x", "text": "y" * 40_001, "about": ""}, "at most 40,000 are kept"),
        ({"title": "x", "text": "y", "about": "http://evil.org/"}, "expected an address of this"),
    ):
        answer = ann.post("/talk/new", **fields)
        assert answer.status_code == 400 and said in answer.text
    assert "kept &lt;text&gt;" in ann.post("/talk/new", title="", text="kept <text>").text
    assert ann.post(thread, text="").status_code == 400
    assert len(messages(site)) == 1


def test_one_person_cannot_flood_the_discussion(site, monkeypatch):
    monkeypatch.setattr(threads, "MOST_AT_ONCE", 3)
    ann = site.browser("ann")
    thread = ann.start()
    assert [ann.post(thread, text="x").status_code for _ in range(3)] == [303, 303, 400]
    with site.repository.connection() as connection:
        earlier = schema.now() - timedelta(hours=1)
        connection.execute(update(talk_message).values(created=earlier))
    assert ann.post(thread, text="x").status_code == 303


# Moderation


def test_reviewers_lock_and_hide_threads_and_messages(site):
    ann, rita, anonymous = site.browser("ann"), site.browser("rita"), site.browser()
    thread = ann.start("a quarrel", "rude words")
    identifier = messages(site)[0].id
    hide = f"/talk/message/{identifier}/hide"
    for act, fields in (
        (hide, {"what": "hide", "reason": "x"}),
        (f"{thread}/moderate", {"what": "lock"}),
    ):
        assert ann.post(act, **fields).status_code == 403
    assert rita.post(hide, what="hide", reason="").status_code == 400
    assert rita.post(hide, what="hide", reason="not a tone for here").status_code == 303
    shown = anonymous.get(thread).text
    assert "rude words" not in shown and "not a tone for here" in shown
    assert "rude words" in rita.get(thread).text
    assert anonymous.get("/api/v1/search", q="rude").json()["hits"] == []
    assert "rude" not in anonymous.get("/talk/feed.atom").text
    assert "rude" not in anonymous.get(thread.replace("/talk/", "/api/v1/threads/")).text
    rita.post(hide, what="unhide")
    assert "rude words" in anonymous.get(thread).text

    rita.post(f"{thread}/moderate", what="lock")
    assert ann.post(thread, text="more").status_code == 400
    assert "This thread is locked" in ann.get(thread).text
    rita.post(f"{thread}/moderate", what="hide")
    assert [who.get(thread).status_code for who in (anonymous, ann, rita)] == [404, 404, 200]
    assert anonymous.get("/api/v1/search", q="rude").json()["hits"] == []


def test_the_image_of_a_hidden_message_is_hidden(site):
    ann, rita, anonymous = site.browser("ann"), site.browser("rita"), site.browser()
    address = ann.paste(picture()).json()["address"]
    ann.start(text=f"![x]({address})")
    rita.post(f"/talk/message/{messages(site)[0].id}/hide", what="hide", reason="x")
    assert [who.get(address).status_code for who in (anonymous, rita, ann)] == [404, 200, 200]


# Feed and mail


def test_the_feed_has_the_newest_messages(site):
    ann = site.browser("ann")
    thread = ann.start("a <title>\x07", "text with a [link](/d/3f2k8abc) & more")
    ann.post(thread, text="second")
    feed = Xml.fromstring(site.browser().get("/talk/feed.atom").content)
    atom = "{http://www.w3.org/2005/Atom}"
    entries = feed.findall(f"{atom}entry")
    assert [one.findtext(f"{atom}title") for one in entries] == ["a <title>", "a <title>"]
    assert "<p>second</p>" in (entries[0].findtext(f"{atom}content") or "")
    assert (entries[0].findtext(f"{atom}id") or "").startswith(f"http://localhost{thread}#m-")
    assert feed.findtext(f"{atom}updated") == entries[0].findtext(f"{atom}updated")
    one = site.browser().get(f"{thread}/feed.atom")
    assert one.headers["content-type"].startswith("application/atom+xml")


def test_those_who_watch_and_may_read_get_mail(site):
    with site.repository.connection() as connection:
        for name, account in site.accounts.items():
            changed = update(schema.account).where(schema.account.c.id == account.id)
            connection.execute(changed.values(email=f"{name}@example.org"))
    thing = site.add_thing("ann", "a run")
    bob = site.browser("bob")
    thread = bob.start("a\r\nquestion", "why?", f"/d/{thing}")
    assert mails(site) == {"ann@example.org"}  # the owner of the thing
    site.browser("ann").post(thread, text="because")
    assert mails(site) == {"bob@example.org"}
    bob.post(f"{thread}/watch", page=thread, watch="no")
    rita = site.browser("rita")
    rita.post(f"{thread}/watch", page=thread, watch="yes")
    site.browser("ann").post(thread, text="and more")
    assert mails(site) == {"rita@example.org"}
    with site.repository.connection() as connection:
        site.repository.things.change(connection, thing, visibility="private")
    site.browser("ann").post(thread, text="only for me")
    assert mails(site) == set()


def mails(site: Site) -> set[str]:
    """Who is to get mail; it is taken away."""
    with site.repository.connection() as connection:
        rows = connection.execute(select(schema.mail)).all()
        connection.execute(schema.mail.delete())
    assert all("\n" not in row.subject and "http://localhost/talk/" in row.text for row in rows)
    return {row.recipient for row in rows}


def test_the_preview_is_what_a_message_will_be(site):
    thing = site.add_thing("ann", "A run")
    ann = site.browser("ann")
    made = ann.post("/talk/preview", text=f"see /d/{thing} <script>").json()["html"]
    assert ">A run</a>" in made and "&lt;script&gt;" in made


def test_programs_write_and_read_by_the_api(site):
    tokens = {"authorization": f"Bearer {token_of(site, 'ann')}"}
    client = site.browser().client
    body = {"title": "from a program", "text": "`io` is large", "about": ""}
    made = client.post("/api/v1/threads", json=body, headers=tokens)
    assert made.status_code == 201
    thread = made.json()["address"].partition("#")[0].rpartition("/")[2]
    answer = {"text": "second"}
    path = f"/api/v1/threads/{thread}/messages"
    assert client.post(path, json=answer, headers=tokens).status_code == 201
    whole = client.get(f"/api/v1/threads/{thread}").json()
    assert [one["text"] for one in whole["messages"]] == ["`io` is large", "second"]
    assert '<a href="/records/io"' in whole["messages"][0]["html"]
    bad = client.post("/api/v1/threads", json={**body, "about": "x"}, headers=tokens)
    assert (bad.status_code, "expected an address" in bad.json()["error"]) == (400, True)


def token_of(site: Site, name: str) -> str:
    account = site.accounts[name]
    return AccessTokens(site.repository.engine).add(account, "test", Role.CONTRIBUTOR, 1.0)
