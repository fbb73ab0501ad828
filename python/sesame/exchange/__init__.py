"""Imports the traces of other tools as data sets, and exports data sets to their formats.

One module for each format; no other package knows a foreign format.
"""

from sesame.exchange.formats import (
    EXPORTS,
    IMPORTS,
    export_data_set,
    import_trace,
)

__all__ = ["EXPORTS", "IMPORTS", "export_data_set", "import_trace"]
