"""Constraint rows to accelerations and forces."""
