"""The public editable model: a document that compiles."""

from __future__ import annotations

from jaxsim.compile.assemble import compile_document
from jaxsim.compile.inertials import with_inertials
from jaxsim.mjcf import Document, names
from jaxsim.mjcf.writer import to_xml
from jaxsim.model import Model
from jaxsim.structure.budgets import given_sizes

__all__ = ["Spec"]


class Spec(Document):
    """A model that can be edited, written and compiled, like MuJoCo's MjSpec."""

    def to_xml(self) -> str:
        """Returns the model as MJCF text; reading it again gives the same model.

        Bodies have their inertias written out where models that were attached have compiler settings about inertia
        that differ from those of the whole model: a text has but one `compiler`.

        Raises:
            MjcfError: an element is not allowed where it stands, inertias would have to be written out and cannot, or
                a joint of type free was attached with another `alignfree` than the whole model's and has what no
                `freejoint` can have: damping, say.
        """
        return to_xml(with_inertials(self))

    def compile(
        self, nconmax: int | None = None, njmax: int | None = None, max_geom_pairs: str | int | None = None
    ) -> Model:
        """Compiles to a model that can be simulated.

        Args:
            nconmax: contact slots of a world; if None what the file asks for, else chosen from the model.
            njmax: constraint rows of a world; None or -1: as many as it may have.
            max_geom_pairs: pairs of geoms of each kind that a broad phase keeps, as in `load_model`.

        Raises:
            MjcfError: the model is not valid, or uses a feature that is not built.
        """
        names.check(self)
        return compile_document(self).replace(**given_sizes(nconmax, njmax, max_geom_pairs))
