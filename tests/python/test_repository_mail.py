"""Mail is sent by SMTP to a server that runs: aiosmtpd."""

from __future__ import annotations

import email
import socket
from email.policy import default

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("aiosmtpd")

from aiosmtpd.controller import Controller
from sqlalchemy import create_engine, func, select, update

from sesame.repository.store import schema
from sesame.repository.uploads.mail import MailServer, queue_mail, send_waiting_mail


class Received:
    def __init__(self) -> None:
        self.mails: list = []
        self.answer = "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        self.mails.append((envelope, email.message_from_bytes(envelope.content, policy=default)))
        return self.answer


@pytest.fixture
def engine(tmp_path):
    made = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    schema.METADATA.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def received():
    return Received()


@pytest.fixture
def server(received):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Controller(received, hostname="127.0.0.1", port=port)
    running.start()
    yield MailServer("127.0.0.1", "sesame@example.org", port)
    running.stop()


def queue(
    engine, recipient="ada@example.org", subject="accepted", text="It is ä public.\n"
) -> None:
    with engine.begin() as connection:
        queue_mail(connection, recipient, subject, text)


def waiting(engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(schema.mail)).scalar_one()


def test_a_mail_arrives_once(engine, server, received):
    queue(engine)
    assert send_waiting_mail(engine, server) == 1
    assert send_waiting_mail(engine, server) == 0
    ((envelope, message),) = received.mails
    assert envelope.rcpt_tos == ["ada@example.org"]
    assert (message["from"], message["subject"]) == ("sesame@example.org", "accepted")
    assert message.get_content().strip() == "It is ä public."
    assert waiting(engine) == 0


def test_a_title_with_line_breaks_adds_no_header(engine, server, received):
    queue(engine, subject="x\r\nBcc: eve@example.org\r\n\r\nbody")
    send_waiting_mail(engine, server)
    ((envelope, message),) = received.mails
    assert envelope.rcpt_tos == ["ada@example.org"]
    assert message["bcc"] is None
    assert message["subject"] == "x Bcc: eve@example.org body"


@pytest.mark.parametrize("recipient", ["", "a@b\nBcc: c@d", "a@b, c@d"])
def test_an_address_that_is_none_gets_no_mail(engine, recipient):
    queue(engine, recipient)
    assert waiting(engine) == 0


def test_a_mail_waits_while_the_server_is_gone(engine, server, received):
    queue(engine)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        gone = MailServer("127.0.0.1", server.sender, free.getsockname()[1])
    assert send_waiting_mail(engine, gone) == 0
    assert waiting(engine) == 1
    assert send_waiting_mail(engine, server) == 0  # it is not due yet
    with engine.begin() as connection:
        connection.execute(update(schema.mail).values(next_try=0.0))
    assert send_waiting_mail(engine, server) == 1
    assert len(received.mails) == 1


def test_a_mail_that_the_server_refuses_for_good_is_dropped_and_others_arrive(
    engine, server, received
):
    received.answer = "554 no"
    queue(engine)
    send_waiting_mail(engine, server)
    assert waiting(engine) == 0


def test_a_mail_that_is_refused_for_now_waits(engine, server, received):
    received.answer = "451 later"
    queue(engine)
    send_waiting_mail(engine, server)
    assert waiting(engine) == 1
