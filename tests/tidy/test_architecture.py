"""Rules for the sources: which modules may use which, sizes, names, unused files."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]

# From the lowest layer up; a module may use modules of lower layers and itself.
CORE_LAYERS = [
    {"base"},
    {"trace", "pdes", "machine"},
    {"postprocess", "rocc"},
    {"network"},
    {"storage"},
    {"mpi", "replay"},
    {"abi", "loader", "player"},
    {"remote"},
    {"sim"},
    {"bindings"},
]
# The modules of core/mpi in the same way. Its tests may use all of them.
MPI_LAYERS = [
    {"objects"},
    {"messages"},
    {"communicators"},
    {"collectives"},
    {"rma", "io"},
    {"calls"},
    {"testing"},
]
PYTHON_LAYERS = [
    {"errors", "settings", "trust", "lazy", "__init__"},
    {"extras", "host_load", "web"},
    {"native", "installed"},
    {"control"},
    {"machines", "datasets"},
    {"traced", "accuracy"},
    {"simulation", "tracing"},
    {"workloads", "measurement"},
    {"overhead"},
    {"reproduction"},
    {"analysis", "replaying"},
    {"evaluation"},
    {"exchange", "comparison"},
    {"api"},
    {"repository"},
    {"cli"},
    {"__main__", "pytest_plugin"},
]
MOST_LINES = 600
MOST_FUNCTION_LINES = 60
BANNED = re.compile(r"(^|_)(utils?|helpers?|managers?|common)(_|$)")
# Functions that were too long when the rule came; the number may only fall.
LONG_FUNCTIONS: dict[str, int] = {"core/mpi/collectives/forms_test.cc": 1}


def tracked(*patterns: str) -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return sorted({ROOT / name for name in names if (ROOT / name).is_file()})


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


CORE = tracked("core/*.cc", "core/*.h", "core/*.c", "core/*.S")
WORKLOADS = tracked("workloads/*.cc", "workloads/*.h")
# What is loaded into programs and kernels.
LOADED = tracked(
    *(
        f"{component}/*.{kind}"
        for component in ("tracer", "probes", "control")
        for kind in ("c", "h", "inc")
    )
)
# All that they may use of the core: the list of traced calls and its records in C.
LOADED_MAY_INCLUDE = {"core/trace/traced_records.def", "core/trace/traced_format.h"}
PYTHON = tracked("python/*.py", "tests/*.py", "tools/*.py", "bench/*.py")
INCLUDE = re.compile(r'^\s*#\s*include\s+"(core/[^"]+)"', re.M)


def layer_of(component: str, layers: list[set[str]]) -> int:
    return next(number for number, components in enumerate(layers) if component in components)


def is_lower(used: str, user: str, layers: list[set[str]]) -> bool:
    return used == user or layer_of(used, layers) < layer_of(user, layers)


def test_there_is_something_to_check():
    assert len(CORE) > 50
    assert len(LOADED) > 60
    assert len(PYTHON) > 30


def test_includes_never_run_upward():
    wrong = []
    for path in CORE:
        component = path.relative_to(ROOT).parts[1]
        for included in INCLUDE.findall(path.read_text()):
            if not is_lower(included.split("/")[1], component, CORE_LAYERS):
                wrong.append(f"{short(path)} includes {included}")
    assert wrong == []


def test_modules_of_mpi_depend_one_way():
    wrong = []
    modules = set().union(*MPI_LAYERS)
    for path in CORE:
        name = path.relative_to(ROOT).parts
        is_test = path.stem.endswith("_test") or path.name == "test_data.h"
        if name[1] != "mpi" or is_test:
            continue
        assert name[2] in modules, f"{short(path)} is in none of the modules"
        for included in INCLUDE.findall(path.read_text()):
            parts = included.split("/")
            if parts[1] == "mpi" and len(parts) > 3 and not is_lower(parts[2], name[2], MPI_LAYERS):
                wrong.append(f"{short(path)} includes {included}")
    assert wrong == []


INCLUDE_ANY = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def included_files(path: Path) -> list[str]:
    """The files of ours that it includes, by their path from the root or beside it."""
    return [
        next((short(p) for p in (ROOT / name, path.parent / name) if p.is_file()), name)
        for name in INCLUDE_ANY.findall(path.read_text())
    ]


def test_what_is_loaded_includes_only_its_own_directory_and_raw_records():
    wrong = []
    for path in LOADED:
        component = path.relative_to(ROOT).parts[0]
        for included in included_files(path):
            is_own = "/" not in included or included.startswith(f"{component}/")
            if not is_own and included not in LOADED_MAY_INCLUDE:
                wrong.append(f"{short(path)} includes {included}")
    assert wrong == []


def test_functions_that_are_compiled_several_times_are_no_headers():
    """A header that others include defines no functions but inline ones; mpi_hooks.inc does."""
    wrong = []
    for path in (p for p in LOADED if p.suffix == ".h" and not p.name.endswith(".bpf.h")):
        wrong += [
            f"{short(path)}: {head}" for head, _ in cxx_functions(path) if "inline" not in head
        ]
    assert wrong == []


def cycles(uses: dict[str, set[str]]) -> list[list[str]]:
    """The groups of nodes each of which uses all others of its group, directly or not (strongly
    connected components, by Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        path.append(node)
        for used in sorted(uses.get(node, set())):
            if used not in number:
                visit(used)
            if used in path:
                lowest[node] = min(lowest[node], lowest[used])
        if lowest[node] == number[node]:
            group = path[path.index(node) :]
            del path[path.index(node) :]
            if len(group) > 1 or node in uses.get(node, set()):
                found.append(sorted(group))

    for node in sorted(uses):
        if node not in number:
            visit(node)
    return found


def test_the_search_for_cycles_finds_them():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}) == [["b", "c", "d"]]
    assert cycles({"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"c"}}) == [["a", "b"], ["c", "d"]]
    assert cycles({"a": {"a"}}) == [["a"]]


def unit_of(name: str) -> str:
    """A header and the source of the same name are one unit; other files are units of their own."""
    return name.rsplit(".", 1)[0] if name.endswith((".h", ".cc", ".c")) else name


def uses_of_units(paths: list[Path]) -> dict[str, set[str]]:
    uses: dict[str, set[str]] = {}
    for path in paths:
        unit = unit_of(short(path))
        used = {unit_of(name) for name in included_files(path)}
        # A source includes its own header; a header that includes itself is a cycle.
        is_source = path.suffix in (".cc", ".c")
        uses.setdefault(unit, set()).update(used - {unit} if is_source else used)
    return uses


def test_a_source_that_uses_a_unit_above_its_own_makes_a_cycle(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    texts = {"low.h": "", "low.cc": '#include "low.h"\n#include "high.h"\n'}
    texts["high.h"] = '#include "low.h"\n'
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert cycles(uses_of_units([tmp_path / name for name in texts])) == [["high", "low"]]
    (tmp_path / "low.cc").write_text('#include "low.h"\n')
    assert cycles(uses_of_units([tmp_path / name for name in texts])) == []


def test_no_unit_uses_itself_by_way_of_others():
    assert cycles(uses_of_units([p for p in [*CORE, *LOADED] if p.suffix != ".S"])) == []


# What a table names for pkgutil.resolve_name is imported as well: sesame.cli.info:info.
PLACE = re.compile(r"sesame(\.[a-z]\w*)+(:\w+)?")


class PythonFile(NamedTuple):
    """What rules ask about. Reading all files takes seconds, so that tests share it."""

    imports: list[str]
    imported_from: list[str]
    functions: list[tuple[str, int]]  # and their length
    classes: list[str]


@functools.cache
def python_file(path: Path) -> PythonFile:
    found = PythonFile([], [], [], [])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.imports.extend(f"{node.module}.{alias.name}" for alias in node.names)
            found.imported_from.append(node.module)
        elif isinstance(node, ast.Import):
            found.imports.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and PLACE.fullmatch(str(node.value)):
            found.imports.append(node.value.replace(":", "."))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions.append((node.name, (node.end_lineno or 0) - node.lineno + 1))
        elif isinstance(node, ast.ClassDef):
            found.classes.append(node.name)
    return found


def imported_modules(path: Path) -> list[str]:
    return [name for name in python_file(path).imports if name.split(".")[0] == "sesame"]


def component_of(module: str) -> str:
    """`sesame.datasets.reader` belongs to datasets, `sesame.__version__` to the package."""
    components = set().union(*PYTHON_LAYERS)
    part = module.split(".")[1] if "." in module else "__init__"
    return part if part in components else "__init__"


def test_imports_never_run_upward():
    wrong = []
    for path in (p for p in PYTHON if short(p).startswith("python/sesame/")):
        component = path.relative_to(ROOT / "python/sesame").parts[0].removesuffix(".py")
        # The package itself names what is in the api and imports it at its first use.
        user = "api" if component == "__init__" else component
        for module in imported_modules(path):
            if not is_lower(component_of(module), user, PYTHON_LAYERS):
                wrong.append(f"{short(path)} imports {module}")
    assert wrong == []


def loaded_with(tree: ast.Module) -> list[str]:
    """What is imported when the module is: neither in functions nor for type checkers alone."""
    found = []
    for node in tree.body:
        inner = node.body if isinstance(node, ast.Try) else [node]
        for one in inner:
            if isinstance(one, ast.ImportFrom) and one.module:
                found += [f"{one.module}.{alias.name}" for alias in one.names]
            elif isinstance(one, ast.Import):
                found += [alias.name for alias in one.names]
    return found


def module_uses(files: dict[str, str]) -> dict[str, set[str]]:
    """The modules that each module loads; `files` are their texts."""
    return {
        module: {
            name if name in files else name.rpartition(".")[0]
            for name in loaded_with(ast.parse(text))
        }
        & files.keys() - {module}
        for module, text in files.items()
    }


def test_a_module_that_imports_its_user_makes_a_cycle():
    files = {"s.a": "from s import b", "s.b": "import s.c", "s.c": "from s.a import x"}
    assert cycles(module_uses(files)) == [["s.a", "s.b", "s.c"]]
    files["s.c"] = "def f():\n    from s.a import x"
    assert cycles(module_uses(files)) == []


def test_no_python_module_imports_itself_by_way_of_others():
    root = ROOT / "python"
    files = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): (
            path.read_text()
        )
        for path in PYTHON
        if path.is_relative_to(root)
    }
    assert len(files) > 100
    assert cycles(module_uses(files)) == []


def test_only_one_module_imports_the_binding():
    users = [
        short(path)
        for path in PYTHON
        if any(module.startswith("sesame._native") for module in imported_modules(path))
    ]
    assert users == ["python/sesame/native.py"]


def test_every_core_source_is_built():
    lists = "\n".join(path.read_text() for path in tracked("*CMakeLists.txt", "*.cmake"))
    lists += "".join(lists.replace("${interface}", name) for name in ("mpich", "mpiabi", "openmpi"))
    dead = [
        short(path)
        for path in CORE
        if path.suffix != ".h" and not re.search(rf"\b{re.escape(path.name)}\b", lists)
    ]
    assert dead == []


def test_every_core_header_is_included():
    sources = [*CORE, *tracked("core/*.py", "core/*.in", "tests/*.cc", "tests/*.c", "tests/*.h")]
    texts = {path: path.read_text() for path in sources}
    dead = [
        short(path)
        for path in CORE
        if path.suffix == ".h"
        and not any(f'{path.name}"' in text for user, text in texts.items() if user != path)
    ]
    assert dead == []


def test_every_python_module_is_imported():
    package = [path for path in PYTHON if short(path).startswith("python/sesame/")]
    used = {module for path in PYTHON for module in imported_modules(path)}
    dead = []
    for path in package:
        parts = path.relative_to(ROOT / "python").with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        # Alembic loads migrations by their place.
        entry = name == "sesame.__main__" or ".migrations." in name
        if not entry and not any(m == name or m.startswith(f"{name}.") for m in used):
            dead.append(short(path))
    assert dead == []


def test_no_file_is_too_long():
    long = {
        short(path): length
        for path in [*CORE, *WORKLOADS, *LOADED, *PYTHON]
        if (length := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert long == {}


def cxx_functions(path: Path) -> list[tuple[str, int]]:
    """(first line, length) of the functions at the margin, as formatted code has them."""
    functions, head, begin = [], "", -1
    for number, line in enumerate(path.read_text().splitlines()):
        if line.startswith("}"):
            if begin >= 0:
                functions.append((head, number - begin + 1))
            head, begin = "", -1
        elif begin < 0 and (
            head or re.match(r"(?!namespace|class|struct|union|enum)[A-Za-z\[]", line)
        ):
            head += line.strip()
            if line.endswith((";", "}", ":")) or line.startswith("#"):
                head = ""
            elif line.endswith("{"):
                begin = number if "(" in head else -1
                head = head if begin >= 0 else ""
    return functions


def test_no_function_is_longer_than_a_screen():
    long: dict[str, int] = {}
    names = []
    native = [p for p in [*CORE, *WORKLOADS, *LOADED] if p.suffix != ".S"]
    for path in [*native, *PYTHON]:
        is_python = path.suffix == ".py"
        functions = python_file(path).functions if is_python else cxx_functions(path)
        for name, length in functions:
            if length > MOST_FUNCTION_LINES:
                long[short(path)] = long.get(short(path), 0) + 1
                names.append(f"{short(path)}: {name}: {length} lines")
    allowed = {key: max(value, LONG_FUNCTIONS.get(key, 0)) for key, value in long.items()}
    assert {k: v for k, v in allowed.items() if v > LONG_FUNCTIONS.get(k, 0)} == {}, names
    assert {k: v for k, v in LONG_FUNCTIONS.items() if long.get(k, 0) < v} == {}, "lower the number"


def is_banned(name: str) -> bool:
    return bool(BANNED.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))


def test_names_say_something():
    wrong = [
        short(path) for path in [*CORE, *WORKLOADS, *LOADED, *PYTHON] if BANNED.search(path.stem)
    ]
    for path in CORE:
        names = re.findall(r"^\s*(?:class|struct|namespace)\s+(\w+)", path.read_text(), re.M)
        wrong += [f"{short(path)}: {name}" for name in names if is_banned(name)]
    for path in PYTHON:
        names = [*python_file(path).classes, *(name for name, _ in python_file(path).functions)]
        wrong += [f"{short(path)}: {name}" for name in names if is_banned(name)]
    assert wrong == []


def test_every_header_opens_with_what_it_is():
    headers = [p for p in [*CORE, *WORKLOADS, *LOADED] if p.suffix in (".h", ".inc")]
    assert [short(p) for p in headers if not p.read_text().startswith(("//", "/*"))] == []


@pytest.mark.parametrize("path", tracked("*.sh", ".ci/run"), ids=lambda path: path.name)
def test_shell_scripts_stop_at_the_first_error(path):
    assert "set -euo pipefail" in path.read_text()


def test_tests_import_what_they_share_by_its_full_name():
    """`conftest` is another file in each directory: which is meant depends on the selection."""
    shared = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    shared -= {name for name in shared if name.startswith("test_")}
    named = [
        f"{short(path)}: {module}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for module in python_file(path).imported_from
        if module in shared
    ]
    assert named == []
