"""The smallest numbers that count, of the whole package."""

__all__ = ["LEAST_PIVOT", "MINVAL"]

MINVAL = 1e-15
"""Length (m), divisor or mass below which something counts as zero (mjMINVAL). Squared it is still a float32."""

LEAST_PIVOT = 1e-15
"""Smallest pivot of a factorisation; a singular matrix has a large, finite solution instead of none, as in C."""
