"""The schema table as a Markdown page: `python -m jaxsim.mjcf.reference` prints it."""

from __future__ import annotations

from jaxsim.mjcf import values
from jaxsim.mjcf.schema import Attribute, ElementType, schema

__all__ = ["render"]

_TEXT = {"text": "text", "file": "file name", "bytes": "byte count", "bool": "true, false"}


def render() -> str:
    """Returns the page: every element with its children, attributes, types and defaults."""
    sections = [_section(element) for element in schema().values() if not element.key.startswith("default/")]
    return "# MJCF elements and attributes\n\n" + "\n".join(sections)


def _section(element: ElementType) -> str:
    lines = [f"## {element.key}", ""]
    if element.children:
        children = ", ".join(
            f"`{tag}`{'' if many == '*' else ' (one)'}" for tag, many in element.children.items()
        )
        lines += [f"Holds {children}.", ""]
    if element.attributes:
        lines += ["| attribute | value | default |", "|---|---|---|"]
        lines += [_row(attribute) for attribute in element.attributes.values()]
        lines.append("")
    for rule in element.constraints:
        names = ", ".join(" + ".join(f"`{name}`" for name in bundle) for bundle in rule.bundles)
        lines += [f"{rule.kind.capitalize()}: {names}.", ""]
    return "\n".join(lines)


def _row(attribute: Attribute) -> str:
    default = "required" if attribute.required else ""
    if attribute.default is not None:
        default = values.write(attribute, attribute.default)
    limits = "".join(f", {comparison} {bound:g}" for comparison, bound in attribute.limits)
    return f"| `{attribute.name}` | {_kind(attribute)}{limits} | {default} |"


def _kind(attribute: Attribute) -> str:
    if attribute.kind in ("float", "int", "chars"):
        noun = {"float": "number", "int": "integer", "chars": "character"}[attribute.kind]
        least, most = attribute.least, attribute.most
        count = "any count of" if most is None else str(least) if least == most else f"{least} to {most}"
        return noun if (least, most) == (1, 1) else f"{count} {noun}s"
    if attribute.kind == "id":
        return f"name of this {attribute.space}"
    if attribute.kind == "ref":
        return f"name of a {attribute.space}"
    if attribute.words:
        words = ", ".join((*attribute.words, *attribute.alone))
        return f"any of {words}" if attribute.kind == "flags" else words
    return _TEXT[attribute.kind]


if __name__ == "__main__":
    print(render())
