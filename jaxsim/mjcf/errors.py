"""The one exception of everything that reads, edits or compiles a model."""

from __future__ import annotations

__all__ = ["MjcfError"]


class MjcfError(ValueError):
    """A model is wrong, or uses something that is not supported.

    Attributes:
        message: what is wrong, or what is expected instead.
        file: the file that holds the element, or None for XML given as text or built in Python.
        line: the element's line, counted from 1, or None.
        element: the element's tag and name, as `geom name="foot"`.
        attribute: the attribute at fault, or None.
        value: that attribute's text, or None.
        suggestion: the nearest valid name, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        element: str | None = None,
        attribute: str | None = None,
        value: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.element = element
        self.attribute = attribute
        self.value = value
        self.suggestion = suggestion
        super().__init__(message)

    def __str__(self) -> str:
        where = "".join(f"{part}:" for part in (self.file, self.line) if part is not None)
        subject = [f"<{self.element}>"] if self.element else []
        if self.attribute:
            shown = "" if self.value is None else f'="{_shorten(self.value)}"'
            subject.append(f"attribute {self.attribute}{shown}")
        text = f"{' '.join(subject)}: {self.message}" if subject else self.message
        hint = f" (did you mean {self.suggestion!r}?)" if self.suggestion else ""
        return f"{where} {text}{hint}".strip()


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
