"""The tables of the evaluation of the Paragon XP/S-15, and what follows from them with the
estimates of `sesame evaluate`.

B. Traversat, D. McNab, B. Nitzberg and S. Fineberg, Evaluation Metrics for the Paragon XP/S-15,
NASA Ames Research Center, report RND-93-017, December 1993. Sections and tables are numbered as
there; figures were printed without numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sesame.evaluation.estimates import mean_time_to_incident
from sesame.evaluation.words import hours
from sesame.reproduction.calculation import Calculation, Show
from sesame.reproduction.outcome import Diagram, Judgement, Outcome, Table
from sesame.trust import Estimate

NAME = "paragon-metrics"
REPORT = "Traversat et al. (1993)"
HOUR = 3600.0
MONTHS = ("February", "March", "April", "May", "June", "July", "August")
DAYS = (12, 31, 30, 31, 30, 31, 31)  # installed on 17 February 1993
UPTIME = (15.53, 16.28, 54.66, 63.33, 51.25, 73.35, 77.44)  # %, table 1
REBOOTS = (22, 155, 114, 73, 67, 153, 90)  # table 2
MINUTES = (471, 419, 440, 359, 520)  # table 3, April to August: 7:51, 6:59, 7:20, 5:59, 8:40
USERS = (0.73, 1.70, 3.03, 3.09, 4.85)  # table 4, April to August
LOAD = (0.13, 0.14, 0.29, 0.17, 0.08)
# Table 6: release, MB/s, microseconds.
MESSAGES = (
    *(("T8", 6.5, 250), ("T9.2", 9.5, 260), ("T9.3", 9.5, 250)),
    *(("T9.5 with assertion", 9.5, 250), ("T9.5 without assertion", 13.5, 170)),
    *(("T9.5 small kernel", 16.5, 170), ("R1.0C", 26.5, 185), ("T10", 28.0, 184)),
)
IPSC_LATENCY = 50  # microseconds, section 3.4.1
PEAK = 175.0  # MB/s, section 2
# Table 7: release, mode, MB/s, microseconds.
IPC = (
    ("R1.0C", "in-line", 4.0, 800),
    ("T10", "in-line", 7.5, 800),
    ("T10", "out-of-line", 11.0, 800),
)
# Table 8: release; first and second run on 128 and on 208 nodes, 2^28 and then 2^30, seconds.
EP = (
    ("T8", (268.1, 23.3, 473.7, 13.8, 262.9, 93.0, 423.4, 57.0)),
    ("T9.2", (30.0, 23.3, 20.7, 13.8, 99.8, 93.2, 63.6, 56.8)),
    ("T9.3", (28.5, 23.3, 19.2, 13.8, 95.5, 93.2, 62.1, 56.8)),
    ("T9.5", (20.35, None, 12.87, None, None, None, None, None)),
    ("R1.0C", (20.31, 20.21, 12.74, 12.63, 80.93, 80.82, 50.63, 50.52)),
    ("T10", (19.72, 19.71, 12.33, 12.31, None, None, None, None)),
)
IPSC_EP = 31.1  # seconds, 128 nodes, 2^28
# Table 9: size; seconds on 64, 128, 208 nodes; ratios to iPSC/860 and Y-MP/1 on 128 nodes.
BENCHMARKS = (
    ("EP", "2^28", (39.45, 19.72, 12.33), 1.30, 6.40),
    ("MG", "256^3", (None, 6.52, None), 1.32, 3.41),
    ("FFT", "256^2 x 128", (15.29, 6.36, None), 1.52, 3.88),
    ("CG", "2.0e6", (None, 6.75, None), 1.27, 1.76),
    ("IS", "2^23", (15.43, 13.50, None), 1.01, 0.85),
    ("APPSP", "64^3", (445.12, 281.27, None), 1.59, 1.67),
    ("APPBT", "64^3", (475.96, 266.58, None), 1.56, 2.97),
    ("APPLU", "64^3", (682.00, 442.00, 326.00), 1.01, 0.73),
)


def _months(values: Sequence[float]) -> list[tuple[float, float]]:
    """Points over the numbers of months; shorter lists begin in April."""
    return [(float(2 + len(MONTHS) - len(values) + at), value) for at, value in enumerate(values)]


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def availability(_show: Show) -> Outcome:
    mean = sum(UPTIME) / len(UPTIME)
    up = [share * days * 24 / 100 for share, days in zip(UPTIME, DAYS, strict=True)]
    rows = [
        [month, f"{share:.2f}", f"{hours_up:.0f}"]
        for month, share, hours_up in zip(MONTHS, UPTIME, up, strict=True)
    ]
    best = max(UPTIME)
    return Outcome(
        "paragon-1",
        "Availability by month",
        f"{REPORT}, section 3.1.1, table 1",
        [
            Judgement(
                "Over the period the average uptime was about fifty percent.",
                abs(mean - 50) < 5,
                seen=f"mean of the months {mean:.1f} %",
            ),
            Judgement(
                "Availability has improved from a low of 15 % to a high of 80 %.",
                abs(min(UPTIME) - 15) < 1 and abs(best - 80) < 1,
                remark="80 % is not among the months; figure 2 has weeks of up to 86 %",
                seen=f"{min(UPTIME):.1f} to {best:.1f} %",
            ),
        ],
        [Table("Table 1, and the hours up that follow", ["1993", "uptime (%)", "hours up"], rows)],
        [Diagram("Availability", "month of 1993", "uptime (%)", {"uptime": _months(UPTIME)})],
    )


def reboots(_show: Show) -> Outcome:
    a_day = sum(REBOOTS) / sum(DAYS)
    august = REBOOTS[-1] / DAYS[-1]
    rows = [
        [month, str(count), f"{count / days:.1f}"]
        for month, count, days in zip(MONTHS, REBOOTS, DAYS, strict=True)
    ]
    return Outcome(
        "paragon-2",
        "Reboots by month",
        f"{REPORT}, section 3.1.2, table 2",
        [
            Judgement(
                "Reboots averaged four per day.",
                round(a_day) == 4,
                remark="the sum of table 2 over the days since 17 February is less",
                seen=f"{sum(REBOOTS)} reboots in {sum(DAYS)} days: {a_day:.1f} a day",
            ),
            Judgement(
                "At the end of August there were 3 reboots per day.",
                round(august) == 3,
                seen=f"{august:.1f} a day in August",
            ),
        ],
        [Table("Table 2", ["1993", "reboots", "a day"], rows)],
        [Diagram("Reboots", "month of 1993", "reboots", {"reboots": _months(REBOOTS)})],
    )


def incident_estimates() -> list[Estimate]:
    """Of April to August, in seconds: the number of incidents is that which the published mean and
    uptime give together."""
    found = []
    for minutes, share, days in zip(MINUTES, UPTIME[2:], DAYS[2:], strict=True):
        up = share / 100 * days * 24 * HOUR
        found.append(mean_time_to_incident(round(up / (60 * minutes)), up))
    return found


def incidents(_show: Show) -> Outcome:
    estimates = incident_estimates()
    low, high = max(one.low for one in estimates), min(one.high for one in estimates)
    rows = [
        [month, hours(60 * minutes), str(one.samples), hours(one.low), hours(one.high)]
        for month, minutes, one in zip(MONTHS[2:], MINUTES, estimates, strict=True)
    ]
    return Outcome(
        "paragon-3",
        "Mean time to incident by month, with limits",
        f"{REPORT}, section 3.1.3, table 3",
        [
            Judgement(
                "The mean time to incident remained almost constant.",
                low <= high,
                seen=f"the limits of 95 % of all months hold {hours(low)} to {hours(high)}"
                if low <= high
                else "no value is within the limits of 95 % of all months",
            )
        ],
        [
            Table(
                "Table 3, the incidents it implies, and exact limits of 95 %",
                ["1993", "mean time", "incidents", "limit from", "limit to"],
                rows,
            )
        ],
        [
            Diagram(
                "Mean time to incident",
                "month of 1993",
                "hours",
                {
                    "published": _months([minutes / 60 for minutes in MINUTES]),
                    "limit from": _months([one.low / HOUR for one in estimates]),
                    "limit to": _months([one.high / HOUR for one in estimates]),
                },
            )
        ],
    )


def utilisation(_show: Show) -> Outcome:
    mean = sum(USERS) / len(USERS)
    rows = [
        [month, f"{users:.2f}", f"{load:.2f}"]
        for month, users, load in zip(MONTHS[2:], USERS, LOAD, strict=True)
    ]
    return Outcome(
        "paragon-4",
        "Utilisation by month",
        f"{REPORT}, section 3.2, table 4",
        [
            Judgement(
                "On average there were three users.",
                round(mean) == 3,
                seen=f"mean of the months {mean:.2f}",
            ),
            Judgement("Usage remained low (less than 5 users).", max(USERS) < 5),
        ],
        [Table("Table 4", ["1993", "users", "load average"], rows)],
        [
            Diagram("Users", "month of 1993", "users", {"users": _months(USERS)}),
            Diagram("Load average", "month of 1993", "load", {"load": _months(LOAD)}),
        ],
    )


def functionality(_show: Show) -> Outcome:
    rows = [[name, size, "yes"] for name, size, *_ in BENCHMARKS]
    rows += [["NHT-1 I/O", "102^3", "no: more than 16 nodes hung the system"]]
    return Outcome(
        "paragon-5",
        "Functionality under release T10",
        f"{REPORT}, section 3.3, table 5",
        [],
        [Table("Table 5 and section 3.3.2", ["benchmark", "size", "runs on 128 nodes"], rows)],
    )


def messages(_show: Show) -> Outcome:
    times = MESSAGES[-1][2] / IPSC_LATENCY
    rows = [[name, _cell(rate), str(latency)] for name, rate, latency in MESSAGES]
    rates = [rate for _, rate, _ in MESSAGES]
    return Outcome(
        "paragon-6",
        "Message passing by release",
        f"{REPORT}, section 3.4.1, table 6",
        [
            Judgement("Bandwidth improved steadily.", rates == sorted(rates)),
            Judgement(
                "Latency remained at three times that of the iPSC/860.",
                round(times) == 3,
                remark="184 µs are nearly four times the 50 µs that the report gives for it",
                seen=f"{times:.1f} times",
            ),
        ],
        [Table("Table 6", ["release", "MB/s", "latency (µs)"], rows)],
        [
            Diagram(
                "Peak bandwidth by release",
                "release, in order",
                "MB/s",
                {"bandwidth": [(float(at), rate) for at, rate in enumerate(rates, 1)]},
            )
        ],
    )


def ipc(_show: Show) -> Outcome:
    share = 100 * IPC[-1][2] / PEAK
    growth = IPC[1][2] / IPC[0][2]
    rows = [[release, mode, _cell(rate), str(latency)] for release, mode, rate, latency in IPC]
    return Outcome(
        "paragon-7",
        "Inter-process communication by release",
        f"{REPORT}, section 3.4.2, table 7",
        [
            Judgement(
                "Pages of 8 KiB instead of 4 KiB almost doubled the bandwidth.",
                1.7 < growth < 2,
                seen=f"{growth:.2f} times",
            ),
            Judgement(
                "The bandwidth is 7 % of the hardware's peak.",
                round(share) == 7,
                remark="11 of 175 MB/s are 6.3 %",
                seen=f"{share:.1f} %",
            ),
        ],
        [Table("Table 7", ["release", "mode", "MB/s", "latency (µs)"], rows)],
    )


def page_in(_show: Show) -> Outcome:
    rows, costs = [], {}
    for release, times in EP:
        cells = [_cell(time) for time in times]
        first, second = times[0], times[1]
        if first is not None and second is not None:
            costs[release] = first - second
        rows.append([release, *cells, _cell(costs.get(release) and round(costs[release], 2))])
    names = [
        f"{size}, {nodes} nodes, {run}"
        for size in ("2^28", "2^30")
        for nodes in (128, 208)
        for run in ("first", "second")
    ]
    return Outcome(
        "paragon-8",
        "EP's first and second run: what paging it in takes",
        f"{REPORT}, section 3.4.4, table 8",
        [
            Judgement(
                "On T10 the overhead to page in an application was negligible.",
                costs["T10"] < 0.01 * EP[-1][1][1],
                seen=f"{costs['T10']:.2f} s, {costs['T8']:.0f} s under T8",
            )
        ],
        [Table("Table 8 (seconds)", ["release", *names, "paging in (2^28, 128)"], rows)],
    )


def benchmarks(_show: Show) -> Outcome:
    rows = [
        [name, size, *map(_cell, times), f"{ipsc:.2f}", f"{ymp:.2f}"]
        for name, size, times, ipsc, ymp in BENCHMARKS
    ]
    ratios = [ipsc for *_, ipsc, _ in BENCHMARKS]
    ep = IPSC_EP / BENCHMARKS[0][2][1]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return Outcome(
        "paragon-9",
        "The NAS benchmarks by number of nodes, and ratios to other machines",
        f"{REPORT}, section 3.4.4, tables 8 and 9",
        [
            Judgement(
                "All run between 1 and 2 times faster than on the iPSC/860.",
                all(1 <= ratio <= 2 for ratio in ratios),
                seen=f"{min(ratios)} to {max(ratios)}, geometric mean {mean:.2f}",
            ),
            Judgement(
                "EP's ratio of table 9 is that of its times in table 8.",
                abs(ep / ratios[0] - 1) < 0.01,
                remark="table 9 compares with published times of the iPSC/860, table 8 has others",
                seen=f"31.1 s by 19.72 s is {ep:.2f}, table 9 has {ratios[0]:.2f}",
            ),
        ],
        [
            Table(
                "Table 9 (seconds)",
                ["benchmark", "size", "64", "128", "208", "to iPSC/860", "to Y-MP/1"],
                rows,
            )
        ],
        [
            Diagram(
                "Ratio to the iPSC/860 on 128 nodes",
                "benchmark, in the order of the table",
                "ratio",
                {"Paragon": [(float(at), ratio) for at, ratio in enumerate(ratios, 1)]},
                has_lines=False,
            )
        ],
    )


CALCULATIONS = [
    Calculation(f"paragon-{number}", title, f"{REPORT}, {where}", calculate)
    for number, (title, where, calculate) in enumerate(
        (
            ("availability by month", "table 1", availability),
            ("reboots by month", "table 2", reboots),
            ("mean time to incident, with limits", "table 3", incidents),
            ("users and load by month", "table 4", utilisation),
            ("what works", "table 5", functionality),
            ("message passing by release", "table 6", messages),
            ("inter-process communication by release", "table 7", ipc),
            ("EP's first and second run", "table 8", page_in),
            ("the NAS benchmarks, ratios to other machines", "table 9", benchmarks),
        ),
        1,
    )
]
