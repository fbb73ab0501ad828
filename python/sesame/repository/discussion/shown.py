"""Messages as one reader sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sesame.repository.discussion.cards import MOST_CARDS, Card, cards_of
from sesame.repository.discussion.markdown import parse, render
from sesame.repository.discussion.threads import Message
from sesame.repository.store import Reader, Repository


@dataclass(frozen=True)
class Shown:
    message: Message
    html: Markup
    cards: list[Card]


def shown(
    repository: Repository, reader: Reader | None, messages: Sequence[Message], host: str
) -> list[Shown]:
    """The text of a hidden message is for reviewers only. `host` is that of this server, whose
    addresses are recognised with it and without."""
    may_review = reader is not None and reader.may_review
    parsed = [parse("" if one.hidden and not may_review else one.text, host) for one in messages]
    cards = cards_of(repository, reader, [place for each in parsed for place in each.places])
    titles = {address: card.title for address, card in cards.items()}
    return [
        Shown(
            message,
            render(each, titles),
            [cards[one.address] for one in each.places if one.address in cards][:MOST_CARDS],
        )
        for message, each in zip(messages, parsed, strict=True)
    ]
