"""Measurements of jaxsim beside its peers; `python -m benchmarks.run`."""
