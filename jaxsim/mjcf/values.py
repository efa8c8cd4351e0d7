"""Attribute values: text of the file to typed value, and back."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

import numpy as np

from jaxsim.mjcf.schema import Attribute, Value

__all__ = ["check", "expected", "parse", "write"]

_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F.]+([pP][+-]?\d+)?$")
_INT = re.compile(r"[+-]?\d{1,11}$", re.ASCII)
_BYTES = re.compile(r"(\d{1,20})([kmgtpeKMGTPE]?)$", re.ASCII)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_INT_MAX = 2**31 - 1


def parse(attribute: Attribute, text: str) -> Value | None:
    """Returns the typed value of an attribute's text, or None for an empty list of numbers.

    Raises:
        ValueError: the text is not such a value; the message says what is expected.
    """
    kind = attribute.kind
    if kind == "float":
        numbers = _floats(text)
    elif kind == "int":
        numbers = _ints(text)
    elif kind == "bool":
        if text not in ("true", "false"):
            raise ValueError(expected(attribute))
        return text == "true"
    elif kind == "bytes":
        return _byte_count(text)
    else:
        value = tuple(text.split()) if kind == "flags" else text
        check(attribute, value)
        return value
    if not numbers and (attribute.least > 0 or attribute.required):
        return None
    value = np.array(numbers, float if kind == "float" else np.int64) if attribute.vector else None
    if value is None:
        if len(numbers) != 1:
            raise ValueError(expected(attribute))
        value = numbers[0]
    check(attribute, value)
    return value


def check(attribute: Attribute, value: Value) -> None:
    """Checks a typed value against its attribute: type, count, keyword and limits.

    Raises:
        ValueError: the value does not fit; the message says what is expected.
    """
    if not _fits(attribute, value):
        raise ValueError(expected(attribute))
    if attribute.kind not in ("float", "int"):
        return
    for comparison, bound in attribute.limits:
        ok = _COMPARE[comparison]
        if not all(ok(number, bound) for number in np.ravel(value)):
            raise ValueError(f"expected a number {comparison} {bound:g}")
    if attribute.kind == "float" and np.isnan(np.ravel(value)[_numbers(attribute)]).any():
        raise ValueError("expected numbers, got nan")
    if not attribute.infinite and np.isinf(value).any():
        raise ValueError("expected finite numbers")
    if attribute.name in ("quat", "refquat", "bindquat") and not np.any(value):
        raise ValueError("expected a quaternion that is not zero")


def _numbers(attribute: Attribute) -> slice:
    """Which entries must be numbers: of what is needed all; elsewhere a first nan means that it is not given.

    Lists of any length, as keyframes have them, say by nan that an entry is not given.
    """
    if attribute.required or attribute.default is not None:
        return slice(None)
    return slice(0) if attribute.most is None else slice(1, None)


def expected(attribute: Attribute) -> str:
    """Says what kind of value an attribute takes."""
    if attribute.kind == "enum":
        return f"expected one of {', '.join(attribute.words)}"
    if attribute.kind == "flags":
        order = ", in this order" if attribute.ordered else ""
        alone = f", or one of {', '.join(attribute.alone)}" if attribute.alone else ""
        return f"expected words of {', '.join(attribute.words)}{order}{alone}, none twice"
    if attribute.kind == "bool":
        return "expected true or false"
    noun = {"float": "number", "int": "integer", "chars": "character"}.get(attribute.kind)
    if noun is None:
        return "expected text"
    least, most = attribute.least, attribute.most
    if least == most:
        count = {1: "1"}.get(least, f"exactly {least}")
    elif most is None:
        count = "any count of" if least == 0 else f"{least} or more"
    else:
        count = f"{least} to {most}"
    return f"expected {count} {noun}{'' if (least, most) == (1, 1) else 's'}"


def write(attribute: Attribute | None, value: Value) -> str:
    """Returns the text of a typed value; numbers keep every bit."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, str):
        return value
    if attribute is not None and attribute.kind == "bytes":
        return str(int(value))
    return " ".join(_number(x) for x in np.ravel(value).tolist())


def _number(x: float | int) -> str:
    if isinstance(x, float) and x.is_integer() and abs(x) < 1e15:
        return str(int(x)) if x or math.copysign(1.0, x) > 0 else "-0.0"
    return repr(x)


def _floats(text: str) -> list[float]:
    if "_" in text or not text.isascii():
        raise ValueError("expected numbers separated by spaces")
    try:
        return [float(token) for token in text.split()]
    except ValueError:
        pass
    try:
        return [float.fromhex(t) if _HEX.match(t) else float(t) for t in text.split()]
    except (ValueError, OverflowError):
        raise ValueError("expected numbers separated by spaces") from None


def _ints(text: str) -> list[int]:
    tokens = text.split()
    if not all(_INT.match(token) for token in tokens):
        raise ValueError("expected integers separated by spaces")
    numbers = [int(token) for token in tokens]
    if any(abs(number) > _INT_MAX for number in numbers):
        raise ValueError("expected integers of at most 32 bits: the number is too large")
    return numbers


def _byte_count(text: str) -> int:
    text = text.strip()
    match = _BYTES.match(text)
    if text != "-1" and match is None:
        raise ValueError("expected an unsigned integer with an optional suffix K, M, G, T, P or E")
    if match is None:
        return -1
    count = int(match[1]) << 10 * " KMGTPE".index(match[2].upper() or " ")
    if count >= 2**64:
        raise ValueError("expected fewer than 2^64 bytes")
    return count


def _fits(attribute: Attribute, value: Value) -> bool:
    """Whether a value has the attribute's type, count and keywords."""
    kind = attribute.kind
    if kind in ("float", "int"):
        if not attribute.vector:
            return isinstance(value, int | float) and not isinstance(value, bool)
        most = math.inf if attribute.most is None else attribute.most
        return isinstance(value, np.ndarray) and value.ndim == 1 and attribute.least <= value.size <= most
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "bytes":
        return isinstance(value, int)
    if kind == "flags":
        return isinstance(value, tuple) and _flags_fit(attribute, value)
    if not isinstance(value, str):
        return False
    if kind == "enum":
        return value in attribute.words
    if kind == "chars":
        ok = attribute.name != "eulerseq" or all(c in "xyzXYZ" for c in value)
        return ok and attribute.least <= len(value) <= (attribute.most or len(value))
    return True


def _flags_fit(attribute: Attribute, value: tuple[str, ...]) -> bool:
    if len(value) == 1 and value[0] in attribute.alone:
        return True
    if len(set(value)) != len(value) or not all(word in attribute.words for word in value):
        return False
    return not attribute.ordered or list(value) == sorted(value, key=attribute.words.index)
