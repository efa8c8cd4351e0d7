"""Any convex geom against any other: distances by GJK, depths by an expanding polytope, contacts in closed form."""

from jaxsim.collision.convex.collide import collide_convex, collide_nearest

__all__ = ["collide_convex", "collide_nearest"]
