"""A small picture of a data set, for links: how many records of each type it has."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

WIDTH, HEIGHT, MOST_BARS = 320, 180, 6
INK, SOFT, PAPER, BAR = "#1d2733", "#526171", "#ffffff", "#0072b2"
LEFT, TOP, LINE = 120, 14, 26


def draw(counts: Sequence[tuple[str, int]]) -> bytes:
    """A PNG with a bar for each of the largest record types, on a logarithmic scale."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    brush = ImageDraw.Draw(image)
    font = ImageFont.load_default(13)
    shown = sorted(counts, key=lambda one: -one[1])[:MOST_BARS]
    most = max((count for _, count in shown), default=1)
    for row, (name, count) in enumerate(shown):
        y = TOP + row * LINE
        label = name if len(name) < 16 else name[:14] + "…"
        brush.text((LEFT - 8, y + 8), label, fill=INK, font=font, anchor="rm")
        share = math.log1p(count) / math.log1p(max(most, 1))
        end = LEFT + max(2, int(share * (WIDTH - LEFT - 66)))
        brush.rectangle((LEFT, y, end, y + 16), fill=BAR)
        brush.text((end + 5, y + 8), _short(count), fill=SOFT, font=font, anchor="lm")
    if not shown:
        brush.text((WIDTH // 2, HEIGHT // 2), "no records", fill=SOFT, font=font, anchor="mm")
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _short(count: int) -> str:
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= limit:
            return f"{count / limit:.3g} {unit}"
    return str(count)
