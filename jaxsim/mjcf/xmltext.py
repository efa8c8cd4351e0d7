"""XML text to an lxml tree, safely: no DTD, no entities, no network, bounded size and depth."""

from __future__ import annotations

import re

from lxml import etree

from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.limits import MAX_XML_BYTES

__all__ = ["parse_xml"]

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


def parse_xml(data: bytes, file: str | None) -> etree._Element:
    """Returns the root of an XML document, without comments and processing instructions.

    Comments are cut out beforehand, because models in the wild hold comments that XML forbids (`--` inside), which
    MuJoCo accepts. The text is taken as UTF-8, whatever its declaration says.

    Args:
        data: the document.
        file: its name in error messages.

    Raises:
        MjcfError: the document is too large, not well formed, or declares a document type.
    """
    if len(data) > MAX_XML_BYTES:
        raise MjcfError(f"the XML is larger than {MAX_XML_BYTES:,} bytes", file=file)
    data = data.removeprefix(b"\xef\xbb\xbf")
    data = _COMMENT.sub(lambda match: b" " + b"\n" * match[0].count(b"\n"), data)
    start = len(data) - len(data.lstrip())
    lines = data[:start].count(b"\n")
    data = data[start:]
    doctype = data.find(b"<!DOCTYPE")
    if doctype >= 0:
        line = lines + 1 + data[:doctype].count(b"\n")
        raise MjcfError("document types and entities are not allowed", file=file, line=line)
    if not data.strip():
        raise MjcfError("the XML is empty", file=file)
    if lines:
        data = _pad(data, lines)
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
    )
    try:
        return etree.fromstring(data.decode("utf-8", "replace").encode(), parser)
    except etree.XMLSyntaxError as error:
        line = error.lineno or None
        raise MjcfError(f"not well-formed XML: {error.msg}", file=file, line=line) from None
    except (ValueError, LookupError) as error:
        raise MjcfError(f"not well-formed XML: {error}", file=file) from None


def _pad(data: bytes, lines: int) -> bytes:
    """Puts leading blank lines back, behind the declaration if there is one, so that line numbers stay right."""
    end = data.find(b"?>") + 2 if data.startswith(b"<?xml") else 0
    return data[:end] + b"\n" * lines + data[end:]
