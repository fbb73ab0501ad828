"""Names of a package that are imported at their first use, so that a command loads what it needs.

The package lists them as ordinary imports, which type checkers read and Python does not run:

    if TYPE_CHECKING:
        from sesame.datasets.reader import DataSet
    else:
        __getattr__ = names_of(__name__)

`from sesame.datasets import DataSet` then imports sesame.datasets.reader, and nothing else of the
package (PEP 562). A name must not be that of a module of the package: Python binds that itself.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def names_of(package: str) -> Callable[[str], object]:
    """A `__getattr__` for the package: imports a name's module when the name is asked for."""

    def find(name: str) -> object:
        modules = modules_of(package) if not name.startswith("__") else {}
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    return find


@functools.cache
def modules_of(package: str) -> dict[str, str]:
    """The module of each name that the package imports under `if TYPE_CHECKING`."""
    source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
    return {
        alias.name: str(line.module)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


class _WithoutPandas:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name} is not loaded by this process", name=name)


def hide_pandas() -> None:
    """Hides pandas from this process. Neither the command line nor an import uses it, but pyarrow
    would import it for its first array, which takes half a second."""
    sys.meta_path.insert(0, _WithoutPandas())
