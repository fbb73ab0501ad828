"""A real Slurm of one node, without systemd, in a directory and on ports of its own. Needs root."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.slurm_accounting import CONFIGURATION as OF_ACCOUNTING
from tests.slurm_accounting import NAME, OF_CONTROLLER, PASSWORD, MariaDb

DEADLINE_S = 60
CONFIGURATION = """\
ClusterName=tested
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
ReturnToService=1
MpiDefault=none
SwitchType=switch/none
JobCompType=jobcomp/none
{accounting}
JobAcctGatherType=jobacct_gather/none
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
SlurmctldTimeout=30
SlurmdTimeout=5
KillWait=1
InactiveLimit=0
MinJobAge=300
NodeName=node NodeHostname=localhost NodeAddr=127.0.0.1 Port={node_port} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=node Default=YES MaxTime=60 State=UP
"""


class Cluster:
    """Daemons of one Slurm. `environment` finds it."""

    def __init__(self, directory: Path, *, has_accounting: bool = False) -> None:
        self._directory = directory
        self._database = MariaDb(_free_port()) if has_accounting else None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {**os.environ, "SLURM_CONF": str(directory / "slurm.conf")}

    def start(self) -> None:
        for name in ("state", "spool"):
            (self._directory / name).mkdir(exist_ok=True)
        ports = {"controller_port": _free_port(), "node_port": _free_port()}
        port, accounting = _free_port(), "AccountingStorageType=accounting_storage/none"
        if self._database is not None:
            accounting = OF_CONTROLLER.format(port=port, directory=self._directory)
        words = {"directory": self._directory, "cpus": os.cpu_count(), "accounting": accounting}
        (self._directory / "slurm.conf").write_text(CONFIGURATION.format(**words, **ports))
        self._start_munge()
        if self._database is not None:
            self._start_accounting(self._database, port)
        self.start_daemon("slurmctld")
        self.start_daemon("slurmd")
        self.wait_for_node("idle")

    def _start_munge(self) -> None:
        key = self._directory / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{name}={self._directory}/munge.{end}" for name, end in files.items()]
        self._spawn("munged", ["munged", "-F", "--force", f"--key-file={key}", *options])
        self._wait(lambda: (self._directory / "munge.socket").exists(), "munged has no socket")

    def _start_accounting(self, database: MariaDb, port: int) -> None:
        database.start()
        path = self._directory / "slurmdbd.conf"
        words = {"port": port, "database_port": database.port, "password": PASSWORD, "name": NAME}
        path.write_text(OF_ACCOUNTING.format(directory=self._directory, **words))
        path.chmod(0o600)  # or slurmdbd refuses it
        self._spawn("slurmdbd", ["slurmdbd", "-D"])
        self._wait(
            lambda: "tested" in self.ask("sacctmgr", "-i", "add", "cluster", "tested").lower(),
            "slurmdbd does not answer",
        )

    def start_daemon(self, name: str) -> None:
        more = ["-N", "node"] if name == "slurmd" else []
        self._spawn(name, [name, "-D", *more])

    def end_daemon(self, name: str, number: int = signal.SIGTERM) -> None:
        process = self._processes.pop(name)
        process.send_signal(number)
        process.wait(DEADLINE_S)

    def stop(self) -> None:
        """Cancels all jobs, so that their steps end, and ends the daemons."""
        self.ask("scancel", "--signal=KILL", "--user=root")
        for name in reversed(self._processes.copy()):
            self.end_daemon(name)
        if self._database is not None:
            self._database.stop()

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, env=self.environment, check=False, timeout=60
        )
        return done.stdout + done.stderr

    def wait_for_node(self, state: str) -> None:
        self._wait(
            lambda: self.ask("sinfo", "-h", "-N", "-o", "%T").strip().startswith(state),
            f"the node does not become {state}",
        )

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        self._wait(is_so, "it does not happen")

    def _wait(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{otherwise}; {self._logs()}")
            time.sleep(0.05)

    def _logs(self) -> str:
        logs = sorted(self._directory.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-1000:]}" for log in logs)

    def _spawn(self, name: str, command: list[str]) -> None:
        with (self._directory / f"{name}.out.log").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command, stdout=output, stderr=output, env=self.environment, start_new_session=True
            )


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
