"""Two to twenty data sets beside each other: differences, and a figure over a setting (a study).

`sides` reads the runs, and takes those that are repetitions of one another as one side; `study` has
figures and settings of the sides and their chart; `recorded` compares data sets that are no runs by
what their info.json says.
"""

from sesame.repository.compare.routes import links, routes

__all__ = ["links", "routes"]
