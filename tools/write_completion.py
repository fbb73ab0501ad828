"""write_completion.py DIRECTORY: writes completion scripts of `sesame` for the shells.

They go below DIRECTORY, at the paths where shells look for them below a prefix's `share`.
"""

import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

NAME = "sesame"
PLACES = {
    "bash": "bash-completion/completions/sesame",
    "fish": "fish/vendor_completions.d/sesame.fish",
    "zsh": "zsh/site-functions/_sesame",
}


def main(directory: Path) -> None:
    for shell, place in PLACES.items():
        kind = get_completion_class(shell)
        assert kind is not None, shell
        file = directory / place
        file.parent.mkdir(parents=True, exist_ok=True)
        # The shell asks the program when the user presses the key; only its name is needed here.
        one = kind(click.Command(NAME), {}, NAME, f"_{NAME.upper()}_COMPLETE")
        file.write_text(one.source_template % one.source_vars(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
