"""Scales of printed units: which numbers can be compared, and by what factor."""

from __future__ import annotations

import itertools

# The Greek letter; the micro sign is normalised to it.
_SMALL = {"m": 1e-3, "μ": 1e-6, "u": 1e-6, "n": 1e-9}
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {f"{name}i": 1024.0**power for power, name in enumerate("KMGTP", 1)}
_TIMES = {"s": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "d": 86400.0}
_TIMES |= {f"{prefix}s": size for prefix, size in _SMALL.items()}
_TIME_WORDS = {
    "nanosecond": "ns",
    "nsec": "ns",
    "microsecond": "us",
    "usec": "us",
    "millisecond": "ms",
    "msec": "ms",
    "second": "s",
    "sec": "s",
    "minute": "min",
    "hour": "h",
    "hr": "h",
    "min": "min",
    "day": "d",
}
_PER_SECOND = ("IO", "Q", "R", "T", "P", "F", "U", "LU", "TE")  # I/O operations, queries, ...
_COUNTED = {  # by dimension: units that take a prefix
    "byte": ("B", "byte", "bytes", "Byte", "Bytes"),
    "bit": ("bit", "bits", "Bit", "Bits"),
    "bit/second": ("bps",),
    "hertz": ("Hz",),
    "FLOPS": ("FLOPS", "FLOP/s"),
    "op": ("ops", "OPS"),
    **{f"{name}PS": (f"{name}PS", f"{name.lower()}ps") for name in _PER_SECOND},
}
_PHYSICAL = ("J", "W", "Wh", "V", "A", "Ah", "eV", "Ha", "Pa", "bar", "g")
_LENGTHS = {f"{prefix}m": size for prefix, size in _SMALL.items()} | {"cm": 1e-2, "km": 1e3}
_PREFIX_WORDS = {
    **{name: _DECIMAL[name[0].upper()] for name in ("kilo", "mega", "giga", "tera", "peta")},
    **{f"{name}bi": _BINARY[f"{name[0].upper()}i"] for name in ("ki", "me", "gi", "te", "pe")},
}
_NUMBERS = dict(zip(("thousand", "million", "billion", "trillion"), "kMGT", strict=True))


def _scales() -> dict[str, tuple[str, float]]:
    """Dimension and factor of each known unit."""
    prefixes = _DECIMAL | _BINARY
    words = {word + end: _TIMES[name] for word, name in _TIME_WORDS.items() for end in ("", "s")}
    counted = [(name, dimension) for dimension, names in _COUNTED.items() for name in names]
    written = [(f"{one}{end}", one) for one in ("byte", "bit") for end in ("", "s")]
    prefixed = (
        (counted, prefixes),
        ([(name, name) for name in _PHYSICAL], _DECIMAL | _SMALL),
        (written, _PREFIX_WORDS),
    )
    return {
        **{name: ("second", factor) for name, factor in (_TIMES | words).items()},
        **{
            f"{prefix}{name}": (dimension, factor)
            for named, of in prefixed
            for name, dimension in named
            for prefix, factor in of.items()
        },
        **{name: ("metre", factor) for name, factor in _LENGTHS.items()},
        **{name: ("", factor) for name, factor in prefixes.items()},
        **{name: ("", _DECIMAL[prefix]) for name, prefix in _NUMBERS.items()},
        **dict.fromkeys(("%", "percent"), ("%", 1.0)),
        "1": ("", 1.0),  # of `1/s`
    }


_SCALES = _scales()
_BY_CASE: dict[str, set[str]] = {}
for _name in _SCALES:
    _BY_CASE.setdefault(_name.casefold(), set()).add(_name)
# Dimensions that may have another name, such as `requests/s`.
COUNTS = {"op", "op/second", "/second", *(f"{name}PS" for name in _PER_SECOND)}
# Periods that are no unit here: what is per one of them is a rate.
_PERIODS = frozenset(["week", "wk", "month", "mo", "year", "yr", "quarter"])
# Units that may stand apart from their number, the longest first; `min` may be another's name.
KNOWN = sorted(_SCALES.keys() - {"", "min", "1"}, key=lambda unit: (-len(unit), unit))
PREFIXES = sorted((_DECIMAL | _BINARY).keys() - {""}, key=len, reverse=True)


def scale(unit: str) -> tuple[str, float]:
    """Dimension of a unit and its size; an unknown unit is a dimension of its own.

    Args:
        unit: Such as `ms`, `MiB/s`, `k` (a count) or `` (a count, too).

    Example:
        >>> scale("ms"), scale("MB/sec"), scale("points")
        (('second', 0.001), ('byte/second', 1000000.0), ('points', 1.0))
    """
    if (same := _in_known_case(unit)) in _SCALES:
        return _SCALES[same]
    above, slash, below = unit.rpartition("/")
    if not slash:
        return unit, 1.0
    (counted, factor), (each, divisor) = scale(above), scale(below)
    return f"{counted}/{each}", factor / divisor


def seconds_in(unit: str) -> float:
    """Seconds in a part of a time: a day, an hour, a minute or a second, by its first letter."""
    return _TIMES["min" if unit.lower() == "m" else unit.lower()]


def is_known(unit: str) -> bool:
    """Whether all parts of a unit have a scale, so that it is comparable to others or is not.

    Example:
        >>> is_known("MB/s"), is_known("points")
        (True, False)
    """
    return unit in _SCALES or all(_in_known_case(part) in _SCALES for part in unit.split("/"))


def uncounted(unit: str) -> str:
    """A unit without what it is counted by: that of `us/op` is `us`, that of `MB/h` is itself."""
    above, _, below = unit.rpartition("/")
    is_rate = is_known(below) or below.casefold().removesuffix("s") in _PERIODS
    return above if above and not is_rate else unit


def _in_known_case(unit: str) -> str:
    """A unit as it is known: `Seconds` is seconds, but `Mb`, of bits or bytes, is not MB."""
    same = _BY_CASE.get(unit.casefold(), set())
    if unit in _SCALES or len({_SCALES[name] for name in same}) != 1:
        return unit
    name = min(same)
    is_word = "byte" in unit.casefold() or "bit" in unit.casefold()
    unsure = any(a != b for a, b in zip(unit, name, strict=True) if "b" in (a, b))
    return unit if unsure and not is_word else name


def factor(unit: str, other: str) -> float | None:
    """Factor of a number in one unit to another; None if they are not comparable.

    Example:
        >>> factor("s", "ms"), factor("us", "MB"), factor("kreq/s", "req/s")
        (1000.0, None, 1000.0)
    """
    (dimension, size), (wanted, per) = scale(unit), scale(other)
    for one, another in itertools.product(("", *PREFIXES), repeat=2):
        if dimension.startswith(one) and wanted == another + dimension.removeprefix(one):
            size, per = size * scale(one)[1], per * scale(another)[1]
            return size / per if size >= per else 1.0 / (per / size)
    return None


def scaled(number: float, size: float) -> float:
    """A number in another unit, without digits that come from the division of units.

    Args:
        number: The number.
        size: What it is multiplied by.
    """
    return number if size == 1.0 else float(f"{number * size:.15g}")
