"""Predicts how a parallel program behaves on a machine that you do not have yet."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sesame")
except PackageNotFoundError:  # run from a source tree that was never built
    __version__ = "0"
