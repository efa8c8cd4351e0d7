"""Sensors: functions by type, one idea a file, and the stages that run them."""
