"""`sesame evaluate install|metrics`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from sesame.cli.console import note
from sesame.errors import InputError

FILE = click.Path(path_type=Path)
OBJECTIVE = click.option(
    "--objective", default=99.0, metavar="PERCENT", help="Availability to reach."
)


def _check_objective(objective: float) -> None:
    if not 0 < objective < 100:
        raise InputError(f"--objective {objective:g}: expected more than 0 and less than 100")


@click.command("install", short_help="Run what is due every minute: systemd, or cron.")
@click.argument("site", metavar="SITE.toml", type=FILE)
@click.option("--directory", type=FILE, metavar="DIR", help="Only write the units, to DIR.")
@click.option("--metrics", type=FILE, metavar="FILE.prom", help="Write metrics, every minute, too.")
@OBJECTIVE
def install(site: Path, directory: Path | None, metrics: Path | None, objective: float) -> None:
    """Run what is due every minute: a systemd timer and service, or a line of cron.

    As root the units are the system's, else the user's. Without systemd a line is added to the
    user's crontab. `--metrics` also writes a file for Prometheus every minute.

    \b
    sesame evaluate install mysite.toml
    sesame evaluate install mysite.toml --metrics /var/lib/prometheus/node-exporter/mysite.prom
    """
    from sesame.evaluation import installing
    from sesame.evaluation.site import read_site

    _check_objective(objective)
    read = read_site(site)
    jobs = installing.jobs_of(read, metrics, objective)
    done = installing.install(read, jobs, directory)
    for path in done.files:
        click.echo(f"wrote {path}")
    for line in done.says:
        click.echo(f"next: {line}" if done.files else line)


@click.command("metrics", short_help="Print the state for Prometheus.")
@click.argument("site", metavar="SITE.toml", type=FILE)
@OBJECTIVE
@click.option("-o", "--output", type=FILE, metavar="FILE.prom", help="Write a file, at once.")
@click.option("--monitoring", type=FILE, metavar="DIR", help="Write alert rules and a dashboard.")
def metrics(site: Path, objective: float, output: Path | None, monitoring: Path | None) -> None:
    """Print the state of all probes, the availability and its burn rate for Prometheus.

    Let the textfile collector of Prometheus' node exporter read a file that is written every
    minute (`sesame evaluate install --metrics`). Windows of burn rates end with the last
    observation.

    \b
    sesame evaluate metrics mysite.toml -o /var/lib/prometheus/node-exporter/mysite.prom
    sesame evaluate metrics mysite.toml --monitoring monitoring
    """
    from sesame.evaluation.metrics import metrics_text, write_monitoring
    from sesame.evaluation.site import read_site
    from sesame.evaluation.waiting import opened
    from sesame.web.page import write_whole

    _check_objective(objective)
    read = read_site(site)
    if monitoring is not None:
        for path in write_monitoring(monitoring):
            click.echo(f"wrote {path}")
        return
    with opened(read, note) as store:
        text = metrics_text(read, store, time.time(), objective / 100)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text)
