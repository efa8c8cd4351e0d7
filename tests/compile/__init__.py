"""Our compiler against the C compiler."""
