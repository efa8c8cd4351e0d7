"""The MJCF table as text, one module a concept; `jaxsim.mjcf.schema` explains the notation and parses it."""

from jaxsim.mjcf.tables import actuator, asset, body, common, data, deformable, relation, sensor, settings

__all__ = ["TABLES"]

TABLES: tuple[str, ...] = tuple(
    module.TABLE for module in (common, settings, asset, body, deformable, relation, actuator, sensor, data)
)
