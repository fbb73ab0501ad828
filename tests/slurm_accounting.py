"""The accounting of a tested Slurm: slurmdbd over a MariaDB in a new directory. Needs root.

Debian's packages `slurmdbd` and `mariadb-server` have the programs.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path
from tempfile import mkdtemp

DEADLINE_S = 60
NAME, PASSWORD = "slurm_acct_db", "tested"
CONFIGURATION = """\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=slurm
StoragePass={password}
StorageLoc={name}
LogFile={directory}/slurmdbd.log
PidFile={directory}/slurmdbd.pid
"""
# In place of accounting_storage/none.
OF_CONTROLLER = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={directory}/munge.socket"""


class MariaDb:
    """A server with an empty database for slurmdbd."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._directory = Path(mkdtemp(prefix="sesame-maria-", dir="/tmp"))
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        shutil.chown(self._directory, "mysql")
        data = f"--datadir={self._directory}/data"
        install = ["mysql_install_db", "--user=mysql", data, "--skip-test-db"]
        method = "--auth-root-authentication-method=normal"
        subprocess.run([*install, method], check=True, capture_output=True, timeout=DEADLINE_S)
        with (self._directory / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [
                    *("mariadbd", "--no-defaults", "--user=mysql", data),
                    *(f"--socket={self._directory}/socket", f"--port={self.port}"),
                    *("--bind-address=127.0.0.1", f"--pid-file={self._directory}/pid"),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + DEADLINE_S
        while self._ask("SELECT 1").returncode != 0:
            assert time.monotonic() < deadline, (self._directory / "log").read_text()[-1000:]
            time.sleep(0.1)
        user = f"slurm@127.0.0.1 IDENTIFIED BY '{PASSWORD}'"
        done = self._ask(f"CREATE USER {user}; GRANT ALL ON {NAME}.* TO slurm@127.0.0.1")
        assert done.returncode == 0, done.stderr

    def _ask(self, statement: str) -> subprocess.CompletedProcess[str]:
        command = ["mariadb", "--no-defaults", f"-S{self._directory}/socket", "-uroot"]
        return subprocess.run(
            [*command, "-e", statement], capture_output=True, text=True, timeout=DEADLINE_S
        )

    def stop(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            self._server.wait(DEADLINE_S)
        shutil.rmtree(self._directory, ignore_errors=True)
