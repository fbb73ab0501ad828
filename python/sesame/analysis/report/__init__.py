"""Reports of runs: one page of HTML that needs nothing else and no network."""
