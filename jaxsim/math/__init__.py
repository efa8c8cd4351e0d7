"""Arithmetic on arrays with worlds last: guarded roots, quaternions, spatial vectors, static row operations."""
