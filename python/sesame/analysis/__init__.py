"""Analyses of data sets: tables, plots, findings and reports."""
