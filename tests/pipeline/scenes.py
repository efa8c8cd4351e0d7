"""Models that use every feature of the smooth dynamics, as XML strings."""

from pathlib import Path

_HERE = Path(__file__).parent

MIXED = (_HERE / "mixed.xml").read_text()
"""All joint types, several a body, off-centre inertias, static and mocap bodies, tendons, every transmission."""

SENSORS = (_HERE / "sensors.xml").read_text()
"""Every sensor, with contacts, limits, a connect and a weld."""

FREE = (_HERE / "free.xml").read_text()
"""Free bodies alone, with a welded body, and with a moving one; tendons that couple dofs beyond the sparsity of M."""
