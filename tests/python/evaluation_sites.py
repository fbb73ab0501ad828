"""The begin of a site file with one probe of availability."""

AVAILABILITY = """\
[target.t]
[probe.p]
target = "t"
interval = "1h"
availability = true
"""
