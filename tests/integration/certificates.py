"""Certificates for tests: an authority, and what it signs (openssl)."""

from __future__ import annotations

import subprocess
from pathlib import Path

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
DAYS = ("-days", "2")


def openssl(directory: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)


def make_authority(directory: Path, name: str) -> Path:
    """Who signs: the file of its certificate."""
    place = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")
    openssl(directory, "req", "-x509", *EC, *DAYS, *place)
    return directory / f"{name}.pem"


def sign(directory: Path, authority: str, subject: str, other_names: str, file: str) -> None:
    """Writes FILE.pem and FILE.key; `other_names` such as "IP:127.0.0.1"."""
    (directory / "names").write_text(f"subjectAltName={other_names}\n")
    request = ("-keyout", f"{file}.key", "-out", "request.pem", "-subj", f"/CN={subject}")
    openssl(directory, "req", *EC, *request)
    signer = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", *DAYS)
    given = ("-in", "request.pem", "-extfile", "names", "-out", f"{file}.pem")
    openssl(directory, "x509", "-req", *given, *signer)
