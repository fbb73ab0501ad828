"""What data sets say: tables, plots and reports."""
