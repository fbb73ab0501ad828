"""Predicts how a parallel program behaves on a machine that you do not have yet."""


def __getattr__(name: str) -> str:
    """`__version__`, looked up when asked for: reading package metadata takes 50 ms."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sesame")
    except PackageNotFoundError:  # run from a source tree that was never built
        return "0"
