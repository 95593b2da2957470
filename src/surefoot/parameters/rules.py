"""Known constraints between parameters, evaluated on columns of configurations.

Each has a margin, which is at least 0 where it holds and grows with the distance from its boundary,
so that a search can follow the boundary.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from surefoot._internal import checks
from surefoot._internal.numbers import LAST_DIGITS, ROUNDING
from surefoot.parameters.columns import Column, Columns, Labels
from surefoot.parameters.conditions import SIGNS
from surefoot.parameters.grammar import Unreadable, Words, read
from surefoot.parameters.parameter import Choice, Parameter

EXPECTED = "a rule such as `a + b <= 10` or `kind != 'fast' or threads >= 4`"
SEARCHED = -LAST_DIGITS  # relative tolerance of continuous values: on the safe side
GRID = LAST_DIGITS  # of values on grids, by which 0.1 + 0.2 <= 0.3 holds
TOLD = ROUNDING  # of values that are told, which may have been printed

_RESERVED = ("and", "or", "not", "in")
_TINY = torch.finfo(torch.float64).tiny

Numbers: TypeAlias = Callable[[Columns], Any]  # columns -> (n,) or one number
Margin: TypeAlias = Callable[[Columns, float], Tensor]  # columns, tolerance -> (n,)


def _floor_divided(left: Any, right: Any) -> Any:
    """left // right, whose slope is 0 where it has one."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return left // right
    one, other = _tensors(left, right)
    return torch.div(one.detach(), other.detach(), rounding_mode="floor") + 0.0 * (one + other)


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: _floor_divided,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": torch.abs,
    "exp": torch.exp,
    "log": torch.log,
    "log10": torch.log10,
    "log2": torch.log2,
    "sqrt": torch.sqrt,
}
_FOLDS = {"min": torch.minimum, "max": torch.maximum}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class Mismatch(ValueError):
    """A rule that can be read and does not fit its parameters."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A constraint between parameters.

    Args:
        text: How it was written; of a function its name and what it reads.
        margin: Function of columns and of a tolerance that returns margins (n,).
        names: The parameters that it reads.
        tolerance: Tolerance of a search.
    """

    text: str
    margin: Margin
    names: tuple[str, ...]
    tolerance: float

    def margins(
        self,
        columns: Mapping[str, Column],
        active: Mapping[str, Tensor],
        tolerance: float | None = None,
    ) -> Tensor:
        """Margins (n,) of configurations, infinite where a parameter of the rule is inactive.

        Args:
            columns: Values (n,) by parameter name.
            active: Whether each parameter that may be inactive is active (n,), by name.
            tolerance: See `compared`; None for that of a search.
        """
        margin = self.margin(Columns(columns), self.tolerance if tolerance is None else tolerance)
        for name in self.names:
            if name in active:
                margin = torch.where(active[name], margin, torch.inf)
        return margin


def rule_of(
    written: str | Callable[..., Any],
    parameters: Mapping[str, Parameter],
    columns: Mapping[str, Column],
) -> Rule:
    """The rule that an expression or a function stands for.

    Args:
        written: The expression or function.
        parameters: All parameters by name.
        columns: Values (n,) by parameter name, on which it is tried.

    Raises:
        Unreadable: If an expression cannot be read.
        Mismatch: If it does not fit the parameters.
    """
    if isinstance(written, str):
        words = read(written, _RESERVED, parameters)
        margin = _defined(_Reader(words, parameters).truth(words.tree))
    else:
        margin = _of_function(written)
    tried = Columns(columns)
    margin(tried, SEARCHED)
    names = tuple(tried.read)
    if not names:
        raise Mismatch("which reads no parameter; expected a rule between parameters")
    smooth = any(_is_continuous(parameters[name]) for name in names)
    text = written if isinstance(written, str) else f"{_name(written)} of {', '.join(names)}"
    return Rule(text, margin, names, SEARCHED if smooth else GRID)


def compared(sign: str, left: Tensor, right: Tensor, tolerance: float) -> Tensor:
    """Margins (n,) of a comparison of numbers.

    Args:
        sign: `==`, `!=`, `<`, `<=`, `>` or `>=`.
        left: Numbers (n,).
        right: Numbers (n,).
        tolerance: Largest difference that counts as none, relative to the numbers; below 0, they
            must differ by that much in the direction of the rule.
    """
    if sign in (">", ">="):
        return compared({">": "<", ">=": "<="}[sign], right, left, tolerance)
    size = torch.maximum(left.abs(), right.abs())
    if sign == "<=":
        return right - left + tolerance * size
    if sign == "==":
        return max(tolerance, GRID) * size - (left - right).abs()
    margin = right - left if sign == "<" else (left - right).abs()
    margin = margin - min(abs(tolerance), GRID) * size
    return torch.where(margin > 0.0, margin, margin - _TINY)


def certain(truth: Tensor) -> Tensor:
    """Margins (n,) of which only the sign is known, by truth values (n,)."""
    return torch.where(truth, torch.inf, -torch.inf).double()


def _defined(margin: Margin) -> Margin:
    """A margin that does not hold where a value is undefined, such as the logarithm of -1."""

    def defined(columns: Columns, tolerance: float) -> Tensor:
        found = margin(columns, tolerance)
        return torch.where(found.isnan(), -torch.inf, found)

    return defined


@dataclass(frozen=True)
class _Reader:
    """Makes functions of columns from an expression, and refuses whatever is not allowed."""

    words: Words
    parameters: Mapping[str, Parameter]

    def truth(self, node: ast.expr, negated: bool = False) -> Margin:
        """The margin of an expression that is true or false."""
        if isinstance(node, ast.BoolOp):
            every = isinstance(node.op, ast.And) is not negated
            return _together([self.truth(one, negated) for one in node.values], every)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.truth(node.operand, not negated)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = zip(sides[:-1], node.ops, sides[1:], strict=True)
            return _together([self._comparison(*pair, negated) for pair in pairs], not negated)
        name = self.words.name_of(node)
        if (
            name is not None
            and isinstance(parameter := self._parameter(name), Choice)
            and all(isinstance(choice, bool) for choice in parameter.choices)
        ):
            return self._member(name, [not negated], False)
        raise Mismatch(f"where `{self.words.written(node)}` is no comparison; expected {EXPECTED}")

    def _comparison(
        self, left: ast.expr, sign: ast.cmpop, right: ast.expr, negated: bool
    ) -> Margin:
        if isinstance(sign, ast.In | ast.NotIn):
            return self._membership(left, right, isinstance(sign, ast.NotIn) is not negated)
        symbol = SIGNS.get(type(sign))
        if symbol is None:
            raise Unreadable(self.words.written(left))
        for one, other in ((left, right), (right, left)):
            name = self.words.name_of(one)
            known = None if name is None else self.parameters.get(name)
            if name is not None and known is not None and _is_category(known):
                if symbol not in ("==", "!="):
                    raise Mismatch(f"expected ==, != or in, since {name} has no order")
                return self._member(name, [self._constant(other)], (symbol == "!=") is not negated)
        if negated:
            symbol = _OPPOSITE[symbol]
        if symbol == "==":
            self._check_equality(left, right)
        first, second = self.number(left), self.number(right)

        def margin(columns: Columns, tolerance: float) -> Tensor:
            one, other = _tensors(first(columns), second(columns))
            return compared(symbol, one, other, tolerance)

        return margin

    def _membership(self, left: ast.expr, right: ast.expr, outside: bool) -> Margin:
        name = self.words.name_of(left)
        if name is None or not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
            raise Mismatch(
                f"where `{self.words.written(left)}` is no parameter beside a list of constants; "
                "expected one such as `kind in ['a', 'b']`"
            )
        values = [self._constant(one) for one in right.elts]
        if _is_category(self._parameter(name)):
            return self._member(name, values, outside)
        sign = ast.NotEq() if outside else ast.Eq()
        return _together([self._comparison(left, sign, one, False) for one in right.elts], outside)

    def _member(self, name: str, values: list[Any], outside: bool) -> Margin:
        """Whether a category is one of several choices."""
        parameter = self._parameter(name)
        for value in values:
            if not parameter.contains(value):
                raise Mismatch(
                    f"where {value!r} is no choice of {name}; expected {parameter.describe()}"
                )

        def margin(columns: Columns, tolerance: float) -> Tensor:
            return certain(columns[name].isin(values) ^ outside)

        return margin

    def _check_equality(self, left: ast.expr, right: ast.expr) -> None:
        """Raise `Mismatch` for an equality that no region satisfies."""
        for one, other in ((left, right), (right, left)):
            name = self.words.name_of(one)
            if name is not None and (special := self._parameter(name).special):
                try:
                    if self.words.constant_of(other) in special:
                        return
                except Unreadable:
                    continue
        for node in (*ast.walk(left), *ast.walk(right)):
            name = self.words.name_of(node)  # type: ignore[arg-type]
            if name is not None and name in self.parameters and self._is_continuous(name):
                raise Mismatch(
                    f"where {name} is continuous, so that an equality leaves no region to search; "
                    "expected an inequality, or a parameter less that the objective computes from "
                    "the others"
                )

    def _is_continuous(self, name: str) -> bool:
        return _is_continuous(self.parameters[name])

    def number(self, node: ast.expr) -> Numbers:
        """The values of an expression that is a number."""
        name = self.words.name_of(node)
        if name is not None and name.lower() not in ("true", "false"):
            if _is_category(self._parameter(name)):
                raise Mismatch(f"where {name} is a category; expected a number")
            return lambda columns: columns[name]
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            combine = _ARITHMETIC[type(node.op)]
            first, second = self.number(node.left), self.number(node.right)
            return lambda columns: combine(*_tensors(first(columns), second(columns)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            sign, inner = -1.0 if isinstance(node.op, ast.USub) else 1.0, self.number(node.operand)
            return lambda columns: sign * inner(columns)
        if isinstance(node, ast.Call):
            return self._call(node)
        value = self._constant(node)
        if isinstance(value, bool | str):
            raise Mismatch(f"where {value!r} is no number; expected a comparison of numbers")
        return lambda columns: float(value)

    def _call(self, node: ast.Call) -> Numbers:
        function = self.words.name_of(node.func) or self.words.written(node.func)
        number = 0 if node.keywords else len(node.args)
        if function in _FUNCTIONS and number == 1:
            of, argument = _FUNCTIONS[function], self.number(node.args[0])
            return lambda columns: of(*_tensors(argument(columns)))
        if function in _FOLDS and number > 1:
            fold, arguments = _FOLDS[function], [self.number(one) for one in node.args]
            return lambda columns: reduce(fold, _tensors(*(one(columns) for one in arguments)))
        known = ", ".join(f"`{one}`" for one in (*_FUNCTIONS, *_FOLDS))
        raise Mismatch(
            f"where `{self.words.written(node)}` is no function of a rule; expected {known}"
        )

    def _constant(self, node: ast.expr) -> Any:
        try:
            return self.words.constant_of(node)
        except Unreadable:
            name = self.words.name_of(node)
            if name is not None:
                self._parameter(name)
            raise

    def _parameter(self, name: str) -> Parameter:
        if name not in self.parameters:
            raise Mismatch(
                f"where {name!r} is no parameter; expected {', '.join(self.parameters)} (texts in "
                "quotes)"
            )
        return self.parameters[name]


def _together(margins: list[Margin], every: bool) -> Margin:
    """The margin of rules of which all, or at least one, must hold."""
    if len(margins) == 1:
        return margins[0]
    fold = torch.minimum if every else torch.maximum

    def margin(columns: Columns, tolerance: float) -> Tensor:
        return reduce(fold, torch.broadcast_tensors(*(one(columns, tolerance) for one in margins)))

    return margin


def _tensors(*values: Any) -> list[Tensor]:
    return [torch.as_tensor(value, dtype=torch.float64) for value in values]


def _is_category(parameter: Parameter) -> bool:
    """Whether it can only be compared with its choices."""
    return isinstance(parameter, Choice) and not parameter.numeric


def _is_continuous(parameter: Parameter) -> bool:
    return not isinstance(parameter, Choice) and parameter.step is None


def _of_function(function: Callable[[Mapping[str, Column]], Any]) -> Margin:
    """The margin of a rule that is a function of columns, by the comparisons that it makes."""

    def margin(columns: Columns, tolerance: float) -> Tensor:
        number = len(next(iter(columns.columns.values())))
        with _Comparisons(tolerance) as seen:
            try:
                found = function(columns)
            except RuntimeError:  # a function that is written with NumPy takes no gradients
                found = function(_without_gradients(columns))
        if isinstance(found, np.ndarray):
            found = torch.from_numpy(found)
        if not isinstance(found, Tensor) or found.shape != (number,):
            shape = f" {tuple(found.shape)}" if hasattr(found, "shape") else ""
            raise Mismatch(
                f"which returned a {type(found).__name__}{shape} for {number} configurations; "
                f"expected a truth value or a margin for each, ({number},)"
            )
        return seen.margin(found) if found.dtype == torch.bool else found.double()

    return _defined(margin)


def _without_gradients(columns: Columns) -> Columns:
    values = {
        name: value if isinstance(value, Labels) else value.detach()
        for name, value in columns.columns.items()
    }
    return Columns(values, columns.read)


class _Comparisons(TorchFunctionMode):
    """Notes the margins of comparisons of tensors, and of truth values that are combined."""

    def __init__(self, tolerance: float) -> None:
        super().__init__()
        self._tolerance = tolerance
        self._noted: dict[int, tuple[Tensor, Tensor]] = {}  # with what keeps the `id` from reuse

    def margin(self, truth: Tensor) -> Tensor:
        """The margins (n,) of truth values (n,)."""
        known = self._noted.get(id(truth))
        return certain(truth) if known is None else known[1]

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").strip("_")
        if kwargs or not isinstance(found, Tensor) or found.dtype != torch.bool:
            return found
        margin = None
        truths = any(isinstance(one, Tensor) and one.dtype == torch.bool for one in args)
        if name in _COMPARISONS and len(args) == 2 and not truths:
            left, right = torch.broadcast_tensors(*_tensors(*args))
            margin = compared(_COMPARISONS[name], left, right, self._tolerance)
        elif name in _LOGICAL and len(args) == 2 and all(isinstance(a, Tensor) for a in args):
            margin = _LOGICAL[name](*map(self.margin, args))
        elif name in _NEGATIONS and len(args) == 1:
            margin = -self.margin(args[0])
            margin = torch.where(margin == 0.0, -_TINY, margin)
        if margin is not None and margin.shape == found.shape:
            self._noted[id(found)] = (found, margin)
        return found


_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="} | {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "not_equal": "!=",
}
_LOGICAL = {
    "and": torch.minimum,
    "logical_and": torch.minimum,
    "bitwise_and": torch.minimum,
    "or": torch.maximum,
    "logical_or": torch.maximum,
    "bitwise_or": torch.maximum,
}
_NEGATIONS = ("invert", "logical_not", "bitwise_not")


def explained(written: str | Callable[..., Any], error: Exception) -> str:
    """Why a rule cannot be used, in a line."""
    shown = checks.shown(written) if isinstance(written, str) else _name(written)
    if isinstance(error, Mismatch):
        return f"got {shown}, {error}"
    if isinstance(error, Unreadable):
        where = f" at {checks.shown(str(error))}" if str(error) else ""
        return f"got {shown}, which cannot be read{where}; expected {EXPECTED}"
    reason = " ".join(str(error).split())
    hint = ": join comparisons with & and |, in parentheses" if "ambiguous" in reason else ""
    return f"got {shown}, which failed on columns of configurations ({reason}){hint}"


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "a function" if name == "<lambda>" else f"the function {name}"
