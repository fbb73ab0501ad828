"""Judges a machine over months: probes that run at intervals, what they observed, estimates.

`site` reads the file that describes the probes, `runner` runs what is due, `store` keeps the
results, and `summary` makes the findings and tables of a period from them. Modules are imported
where they are used, so that a check that finds nothing due costs little.
"""
