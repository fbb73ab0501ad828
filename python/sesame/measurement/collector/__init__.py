"""The collector: what many daemons have measured becomes data sets."""
