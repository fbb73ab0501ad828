"""`python -m sesame`"""

from sesame.cli import main

main()
