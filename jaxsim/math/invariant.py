"""What the body of a loop computes alike in every trip."""

from __future__ import annotations

from jax import Array
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

__all__ = ["invariant_results"]


def invariant_results(body: ClosedJaxpr) -> list[Array | None]:
    """The results that do not depend on the arguments, computed from constants alone; None for those that do.

    XLA leaves such arrays in the loop, where each is written once a trip.
    """
    jaxpr = body.jaxpr
    changing = set(jaxpr.invars)
    eqns = []
    for eqn in jaxpr.eqns:
        if any(not isinstance(v, Literal) and v in changing for v in eqn.invars):
            changing.update(eqn.outvars)
        else:
            eqns.append(eqn)
    fixed = [isinstance(v, Literal) or v not in changing for v in jaxpr.outvars]
    outvars = [v for v, own in zip(jaxpr.outvars, fixed, strict=True) if own]
    debug = jaxpr.debug_info._replace(arg_names=(), result_paths=None)
    alone = jaxpr.replace(invars=[], outvars=outvars, eqns=eqns, debug_info=debug)
    found = iter(jaxpr_as_fun(ClosedJaxpr(alone, body.consts))())
    return [next(found) if own else None for own in fixed]
