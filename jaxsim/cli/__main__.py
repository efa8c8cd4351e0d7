"""Runs the command line by `python -m jaxsim.cli`."""

from jaxsim.cli import main

main()
