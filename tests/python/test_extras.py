"""Optional packages: what works without them, and what is reported where one is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sesame.errors import InputError
from sesame.extras import PACKAGES, require

OPTIONAL = {package for packages in PACKAGES.values() for package in packages}
# The command line where no extra is installed.
PROGRAM = f"""
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from sesame.cli import main
main()
"""
MATRIX = """%%MatrixMarket matrix coordinate real general
1 1 1
1 1 1.0
"""


@pytest.fixture
def bare(environment, tmp_path):
    """Runs the command line without any extra."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "-n", "4", "--report", "run.html", "--machine", "paragon", "--", "ring", "3"),
        ("measure", "--help"),
        ("measure", "flags"),
    ],
    ids=" ".join,
)
def test_needs_no_extra(bare, arguments):
    done = bare(*arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [("info",), ("report", "x.html")], ids=" ".join)
def test_reading_a_data_set_needs_no_extra(bare, arguments, run_path):
    done = bare(arguments[0], run_path, *arguments[1:])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["chrome", "csv", "sddf"])
def test_a_data_set_is_exported_without_an_extra(bare, form, run_path):
    done = bare("export", run_path, "--to", form, "--file", "out")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra", "package"),
    [
        (("measure", "daemon"), "daemon", "fastjsonschema"),
        (("collect", "-o", "node"), "daemon", "hypercorn"),
        (("measure", "record", "--seconds", "1"), "daemon", "httptools"),
        (("measure", "status"), "daemon", "httptools"),
        (("export", "RUN", "--to", "otf2", "--file", "out"), "exchange", "otf2"),
        (("import", "log.darshan", "--from", "darshan", "-o", "x.sesame"), "exchange", "darshan"),
        (
            ("simulate", "-n", "2,4", "--machine", "paragon", "--plot", "x.png", "--", "ring", "3"),
            "plot",
            "matplotlib",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_verb_says_how_to_install_what_it_needs(
    bare, arguments, extra, package, run_path, tmp_path
):
    (tmp_path / "log.darshan").write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    done = bare(*[run_path if word == "RUN" else word for word in arguments])
    assert done.returncode == 2
    message, hint = done.stderr.splitlines()
    assert message.startswith("error: ") and package in message
    assert hint == f"hint: pip install 'sesame-hpc[{extra}]'"
    assert sorted(tmp_path.iterdir()) == before


def test_a_matrix_file_needs_scipy(monkeypatch, tmp_path):
    from sesame.workloads.matrices import read_matrix

    path = tmp_path / "one.mtx"
    path.write_text(MATRIX)
    assert read_matrix(path).nnz == 1
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(InputError) as caught:
        read_matrix(path)
    assert str(path) in caught.value.message and "scipy" in caught.value.message
    assert caught.value.hint == "pip install 'sesame-hpc[matrices]'"


def test_only_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(PACKAGES, "some", ("json", "not_there", "not_here"))
    with pytest.raises(InputError) as caught:
        require("some", "this")
    assert caught.value.message == "this needs the Python packages not_there, not_here"
    require("some", "this", "json")
