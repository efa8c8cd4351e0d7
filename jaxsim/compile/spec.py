"""The public editable model: a document that compiles."""

from __future__ import annotations

from jaxsim.compile.assemble import compile_document
from jaxsim.mjcf import Document, names
from jaxsim.model import Model

__all__ = ["Spec"]


class Spec(Document):
    """A model that can be edited, written and compiled, like MuJoCo's MjSpec."""

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
        return compile_document(self, nconmax, njmax, max_geom_pairs)
