"""Rays against geoms: which surface a ray meets first, how far away it is, and its normal there.

The search (`primitives`, `mesh`) carries no derivative; it names a geom and a feature of its surface. Distance and
normal are then computed again in closed form from that feature (`surface`), so that they differentiate.
"""
