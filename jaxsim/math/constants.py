"""The smallest and the largest numbers that count, of the whole package."""

__all__ = ["LEAST_PIVOT", "MAXVAL", "MINVAL"]

MINVAL = 1e-15
"""Length (m), divisor or mass below which something counts as zero (mjMINVAL). Squared it is still a float32."""

MAXVAL = 1e10
"""Half extent of a plane (m), and what is above it in magnitude has diverged (mjMAXVAL)."""

LEAST_PIVOT = 1e-15
"""Smallest pivot of a factorisation; a singular matrix has a large, finite solution instead of none, as in C."""
