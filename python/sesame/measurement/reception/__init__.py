"""The reception: what many daemons have measured becomes data sets."""
