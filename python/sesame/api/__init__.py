"""The public library, which the command line uses, too. Each name's module is loaded at its first
use."""
