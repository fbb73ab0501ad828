"""Shells complete the command with the scripts that the package installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools/write_completion.py"
PLACES = {
    "bash": "bash-completion/completions/sesame",
    "fish": "fish/vendor_completions.d/sesame.fish",
    "zsh": "zsh/site-functions/_sesame",
}
ASK = {
    "bash": "source {file}; COMP_WORDS=(sesame {words}); COMP_CWORD={last};"
    ' _sesame_completion sesame; printf "%s\\n" "${{COMPREPLY[@]}}"',
    "fish": 'source {file}; complete --do-complete "sesame {words}"',
}


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    directory = tmp_path_factory.mktemp("share")
    subprocess.run([sys.executable, SCRIPT, directory], check=True)
    return directory


@pytest.fixture
def with_command(tmp_path):
    """An environment whose PATH has the command."""
    command = tmp_path / "sesame"
    command.write_text(f"#!{sys.executable}\nfrom sesame.cli import main\nmain()\n")
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def test_each_shell_has_its_script_where_it_looks(share):
    assert {str(path.relative_to(share)) for path in share.rglob("*") if path.is_file()} == set(
        PLACES.values()
    )
    # zsh takes a function from a file that begins so.
    assert (share / PLACES["zsh"]).read_text().startswith("#compdef sesame\n")


@pytest.mark.parametrize("shell", list(ASK))
@pytest.mark.parametrize(
    ("words", "expected"),
    [("sim", {"simulate"}), ("simulate --mach", {"--machine"}), ("machine ca", {"calibrate"})],
)
def test_the_script_completes(shell, words, expected, share, with_command):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    ask = ASK[shell].format(file=share / PLACES[shell], words=words, last=len(words.split()))
    done = subprocess.run(
        [shell, "-c", ask], env=with_command, capture_output=True, text=True, check=True
    )
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == expected


@pytest.mark.parametrize("shell", list(PLACES))
def test_the_command_answers(shell, with_command):
    asked = {"COMP_WORDS": "sesame sim", "COMP_CWORD": "1" if shell != "fish" else "sim"}
    done = subprocess.run(
        ["sesame"],
        env={**with_command, **asked, "_SESAME_COMPLETE": f"{shell}_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "simulate" in done.stdout and "trace" not in done.stdout
