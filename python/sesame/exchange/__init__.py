"""Other tools' traces become data sets here, and data sets other tools' traces; nowhere else."""

from sesame.exchange.formats import (
    EXPORTS,
    IMPORTS,
    export_data_set,
    import_trace,
)

__all__ = ["EXPORTS", "IMPORTS", "export_data_set", "import_trace"]
