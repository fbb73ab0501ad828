"""Mail to owners and reviewers. It waits in a table until the site's server has accepted it, so
that nothing waits for that server and nothing is lost."""

from __future__ import annotations

import smtplib
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from sesame.repository.accounts.store import MAIL
from sesame.repository.store import schema

TIMEOUT_S = 20.0
FIRST_WAIT_S, MOST_TRIES = 60.0, 12  # doubles with each try: two days and more
AT_ONCE = 50


@dataclass(frozen=True)
class MailServer:
    """`encryption`: 'none', 'starttls' or 'tls'."""

    host: str
    sender: str
    port: int = 25
    encryption: str = "none"
    user: str = ""
    password: str = ""


def queue_mail(connection: Connection, recipient: str, subject: str, text: str) -> None:
    """Within the transaction of what it reports. Nothing for an account without an address."""
    if not MAIL.fullmatch(recipient):
        return
    now = time.time()
    connection.execute(
        insert(schema.mail).values(
            recipient=recipient,
            # A title is a user's text: as a header it has one line.
            subject=" ".join(subject.split())[:200],
            text=text,
            created=now,
            next_try=now,
            tries=0,
        )
    )


def send_waiting_mail(engine: Engine, server: MailServer) -> int:
    """Sends what is due; returns how many were sent. What is not accepted is tried again later.
    Raises nothing: the server of mail may be gone for days."""
    now = time.time()
    with engine.begin() as connection:
        due = select(schema.mail).where(schema.mail.c.next_try <= now).limit(AT_ONCE)
        rows = connection.execute(due.with_for_update(skip_locked=True)).mappings().all()
        for row in rows:  # claimed: another process does not send it meanwhile
            wait = FIRST_WAIT_S * 2 ** row["tries"]
            chosen = schema.mail.c.id == row["id"]
            connection.execute(
                update(schema.mail)
                .where(chosen)
                .values(next_try=now + wait, tries=row["tries"] + 1)
            )
    if not rows:
        return 0
    sent = _send(server, rows)
    given_up = [one["id"] for one in rows if one["tries"] + 1 >= MOST_TRIES]
    with engine.begin() as connection:
        connection.execute(delete(schema.mail).where(schema.mail.c.id.in_([*sent, *given_up])))
    return len(sent)


def _send(server: MailServer, rows: Any) -> list[int]:
    sent: list[int] = []
    try:
        with _connected(server) as smtp:
            for row in rows:
                try:
                    smtp.send_message(_message(server, row))
                except smtplib.SMTPResponseException as error:
                    if not 500 <= error.smtp_code < 600:
                        continue
                except smtplib.SMTPRecipientsRefused:
                    continue
                sent.append(row["id"])  # or refused for good
    except (OSError, smtplib.SMTPException):
        pass
    return sent


def _connected(server: MailServer) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if server.encryption == "tls":
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=TIMEOUT_S, context=context
        )
    else:
        smtp = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)
    if server.encryption == "starttls":
        smtp.starttls(context=context)
    if server.user:
        smtp.login(server.user, server.password)
    return smtp


def _message(server: MailServer, row: Mapping[str, Any]) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = server.sender, row["recipient"]
    message["Subject"] = row["subject"]
    message["Date"], message["Message-ID"] = formatdate(row["created"]), make_msgid("sesame")
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(row["text"])
    return message
