"""Griffe extension: formulas in docstrings as MathML, which browsers show without scripts."""

import re
import textwrap
from typing import Any

import griffe
from latex2mathml.converter import convert

INLINE = re.compile(r":math:`([^`]+)`")
BLOCK = re.compile(r"^( *)\.\. math:: *((?:.+\n?)(?:\1 +.+\n?)*)", re.MULTILINE)


def with_formulas(text: str) -> str:
    """A docstring with its reStructuredText formulas as MathML."""

    def block(found: re.Match[str]) -> str:
        formula = " ".join(textwrap.dedent(found[2]).split())
        return f"{found[1]}{convert(formula, display='block')}\n"

    def inline(found: re.Match[str]) -> str:
        return convert(" ".join(found[1].split()))

    return INLINE.sub(inline, BLOCK.sub(block, text))


class DocstringMarkup(griffe.Extension):
    """Formulas as MathML, and examples as the section that Griffe calls Examples."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = with_formulas(obj.docstring.value)
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
