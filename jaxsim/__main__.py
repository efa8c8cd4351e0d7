"""Runs the command line by `python -m jaxsim`."""

from jaxsim.cli import main

main()
