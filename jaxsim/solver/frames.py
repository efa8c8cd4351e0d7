"""What Jacobians of contacts are computed from. Native layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from jax import Array

from jaxsim.math.axis import concat
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver.curvature import Curvature
from jaxsim.solver.gram import Factors
from jaxsim.structure.sparsity import TreeStructure

if TYPE_CHECKING:
    from jaxsim.solver.chain_jacobian import ChainJacobian
    from jaxsim.solver.contact_jacobian import ContactJacobian

__all__ = ["Frames", "joined_frames"]


class Frames(Record):
    """What a Jacobian of contacts is computed from, as long as it may turn out of which of them it is needed."""

    pos: Array = leaf("n 3", "where the contacts are, m")
    frame: Array = leaf("n 3 3", "axes of their frames")
    moves: Array = leaf("nv 9", "of each dof `cdof` and the point that it refers to, m")
    dim: int = static("", "dimension of the contacts")

    _own: ClassVar[str]
    """What else belongs to each contact."""

    def jacobian(self) -> ContactJacobian | ChainJacobian:
        """The Jacobian of all of them."""
        raise NotImplementedError

    def picked(self, pick: Callable[[Array], Array]) -> ContactJacobian | ChainJacobian:
        """That of some of the contacts: `pick` chooses rows of arrays (n, ..., W)."""
        kept = {name: pick(getattr(self, name)) for name in ("pos", "frame", self._own)}
        return self.replace(**kept).jacobian()

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        return self.jacobian().product(x)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (n, dim, W)`."""
        return self.jacobian().transpose(f)

    def factors(self, C: Curvature) -> Factors | None:
        """J and C, if these are all that is needed."""
        return self.jacobian().factors(C)

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of `J^T C J`."""
        return self.jacobian().gram(structure, C)

    def matrix(self) -> Array:
        """J by all dofs, `(n, dim, nv, W)`."""
        return self.jacobian().matrix()


def joined_frames(parts: Sequence[Frames]) -> Frames:
    """Those of contacts of several dimensions, one after the other, of the largest dimension."""
    first = parts[0]
    names = ("pos", "frame", first._own)
    own = {name: concat([getattr(part, name) for part in parts]) for name in names}
    return first.replace(**own, dim=max(part.dim for part in parts))
