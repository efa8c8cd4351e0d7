"""Exchange with other simulators."""
