"""The charts of reproduced experiments."""

from __future__ import annotations

from sesame.reproduction import Diagram, Lanes
from sesame.web.chart import SERIES, Chart

LANE_HEIGHT = 34


def chart_of(diagram: Diagram | Lanes) -> Chart:
    return _curves(diagram) if isinstance(diagram, Diagram) else _lanes(diagram)


def _curves(diagram: Diagram) -> Chart:
    chart = Chart(340)
    names = list(dict.fromkeys(band.name for band in diagram.bands))
    if diagram.bands:
        chart.regions(
            [band.name for band in diagram.bands],
            [band.begin for band in diagram.bands],
            [band.end for band in diagram.bands],
            [_colour(2 + names.index(band.name)) for band in diagram.bands],
        )
    for i, (name, points) in enumerate(diagram.curves.items()):
        x, y = [place for place, _ in points], [value for _, value in points]
        if diagram.has_lines or diagram.bands:
            chart.line(name, x, y, _colour(i), points=not diagram.bands)
        else:
            chart.points(name, x, y, _colour(i))
    chart.x(diagram.axis, log=diagram.is_logarithmic)
    chart.y(diagram.ordinate, log=diagram.is_logarithmic, zero=not diagram.is_logarithmic)
    return chart


def _colour(number: int) -> str:
    return SERIES[number % len(SERIES)]


def _lanes(lanes: Lanes) -> Chart:
    chart = Chart(120 + LANE_HEIGHT * len(lanes.lanes))
    place = {name: number for number, name in enumerate(lanes.lanes)}
    for i, kind in enumerate(dict.fromkeys(bar.kind for bar in lanes.bars)):
        bars = [bar for bar in lanes.bars if bar.kind == kind]
        chart.spans(
            kind,
            [place[bar.lane] for bar in bars],
            [bar.begin for bar in bars],
            [bar.end - bar.begin for bar in bars],
            _colour(i),
            texts=[bar.text for bar in bars],
        )
    if lanes.arrows:
        chart.links(
            "messages",
            [arrow.begin for arrow in lanes.arrows],
            [place[arrow.source] for arrow in lanes.arrows],
            [arrow.end for arrow in lanes.arrows],
            [place[arrow.destination] for arrow in lanes.arrows],
            "ink",
            arrows=True,
            texts=[arrow.text for arrow in lanes.arrows],
        )
    chart.x(lanes.axis)
    chart.y("", names=list(place), reversed=True, grid=False)
    return chart
