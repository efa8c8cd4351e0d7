"""XML text to an lxml tree, safely: no DTD, no entities, no network, bounded size and depth."""

from __future__ import annotations

import re

from lxml import etree

from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.limits import MAX_XML_BYTES

__all__ = ["parse_xml"]

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_GLUED = re.compile(rb"""(=\s*(?:"[^"<]*"|'[^'<]*'))(?=[A-Za-z_])""")
_XMLNS = re.compile(rb"""\sxmlns(?::[\w.-]+)?\s*=\s*(?:"[^"<]*"|'[^'<]*')""")
_TALL = re.compile(rb"""<[A-Za-z_](?:[^<>"']|"[^"<]*"|'[^'<]*')*>""")
_BARE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)")


def parse_xml(data: bytes, file: str | None) -> etree._Element:
    """Returns the root of an XML document, without comments and processing instructions.

    Comments are cut out beforehand, because models in the wild hold comments that XML forbids (`--` inside), which
    MuJoCo accepts. A missing space between attributes and a bare `&`, which it accepts too, are repaired. The
    declaration is not read: the text is UTF-8, and versions in the wild are such as "0.0". Namespaces are not
    told apart: a prefix, declared or not (`drake:acceleration`, as many URDFs have it), is part of a name, and what
    the root has with one (`xsi:schemaLocation`) is ignored.

    Args:
        data: the document.
        file: its name in error messages.

    Raises:
        MjcfError: the document is too large, not well formed, or declares a document type.
    """
    if len(data) > MAX_XML_BYTES:
        raise MjcfError(f"the XML is larger than {MAX_XML_BYTES:,} bytes", file=file)
    data = data.removeprefix(b"\xef\xbb\xbf")
    data = _COMMENT.sub(_left_out, data)
    data, lines = _cut(data, len(data) - len(data.lstrip()))
    if data.startswith(b"<?xml"):
        data, more = _cut(data, data.find(b"?>") + 2)
        lines += more
    doctype = data.find(b"<!DOCTYPE")
    if doctype >= 0:
        line = lines + 1 + data[:doctype].count(b"\n")
        raise MjcfError("document types and entities are not allowed", file=file, line=line)
    if not data.strip():
        raise MjcfError("the XML is empty", file=file)
    data = _XMLNS.sub(_left_out, data)
    data = b"\n" * lines + data  # line numbers stay right
    # libxml2 gives the line on which a tag ends; a reader looks for where it begins
    data = _TALL.sub(_flat, data)
    data = data.decode("utf-8", "replace").encode()
    try:
        return _tree(data)
    except etree.XMLSyntaxError as error:
        problem = error
    except (ValueError, LookupError) as error:
        raise MjcfError(f"not well-formed XML: {error}", file=file) from None
    try:
        return _tree(_BARE.sub(b"&amp;", _GLUED.sub(rb"\1 ", data)))
    except (etree.XMLSyntaxError, ValueError, LookupError):
        line = problem.lineno or None
        raise MjcfError(f"not well-formed XML: {problem.msg}", file=file, line=line) from None


def _tree(data: bytes) -> etree._Element:
    """Returns the root of a document, whose names may have prefixes that are not declared."""
    parser = _parser(recover=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        if any(entry.type != etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE for entry in parser.error_log):
            raise
    root = etree.fromstring(data, _parser(recover=True))
    for name in [name for name in map(str, root.attrib) if ":" in name]:
        del root.attrib[name]
    return root


def _parser(recover: bool) -> etree.XMLParser:
    """Returns a parser that reads text alone, nothing else from disk or network."""
    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
        recover=recover,
    )


def _left_out(part: re.Match[bytes]) -> bytes:
    """Returns what stands for a part of a document: its line breaks."""
    return b" " + b"\n" * part[0].count(b"\n")


def _flat(tag: re.Match[bytes]) -> bytes:
    """Returns a tag on one line, and behind it the line breaks that it had."""
    return tag[0].replace(b"\n", b" ") + b"\n" * tag[0].count(b"\n")


def _cut(data: bytes, end: int) -> tuple[bytes, int]:
    """Returns what follows the first `end` bytes, and the number of line breaks in these."""
    return data[end:], data[:end].count(b"\n")
