"""Changes of Python code: each mutator takes a node and gives spans of the source with the texts to put there."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from .code import Code
from .mutants import Mutant, numbered, shortened

__all__ = ["mutate_python"]

Edit = tuple[int, int, str, ast.AST]
"""Where the span begins and ends, its new text, and the node that is shown."""

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: (r"<(?!=)", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">(?!=)", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {ast.Add: (r"\+", "-"), ast.Sub: (r"-", "+")}
TEXTS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)
SPEAKERS = re.compile(
    r"Fault|fault|[rR]efus|ProtocolError|BadRequestError|LimitError|CallError|ContractError|LockError"
)
"""Calls whose texts a client or a person is shown."""


def mutate_python(path: str, source: str) -> list[Mutant]:
    """Return every mutant of a module."""
    code = Code(source)
    found = []
    for node in code.nodes():
        for name, mutator in MUTATORS.get(type(node), ()):
            for start, end, text, shown in mutator(code, node):
                begin, stop = code.span(shown)
                after = source[begin:start] + text + source[end:stop]
                found.append(
                    Mutant(
                        path,
                        code.function_of(node),
                        name,
                        shortened(source[begin:stop]),
                        shortened(after),
                        start,
                        end,
                        text,
                        code.line_of(start),
                        code.line_of(max(start, end - 1)),
                    )
                )
    return numbered([mutant for mutant in found if mutant.before != mutant.after])


def _between(code: Code, left: ast.AST, right: ast.AST, change: tuple[str, str], shown: ast.AST) -> Iterator[Edit]:
    """Give the edit of an operator, which has no position of its own: it stands between two nodes that have one."""
    start, end = code.span(left)[1], code.span(right)[0]
    if found := re.search(change[0], code.source[start:end]):
        yield start + found.start(), start + found.end(), change[1], shown


def _comparison(code: Code, node: ast.Compare) -> Iterator[Edit]:
    operands = [node.left, *node.comparators]
    for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
        yield from _between(code, left, right, COMPARISONS[type(operator)], node)


def _connective(code: Code, node: ast.BoolOp) -> Iterator[Edit]:
    change = (r"\band\b", "or") if isinstance(node.op, ast.And) else (r"\bor\b", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield from _between(code, left, right, change, node)


def _negation(code: Code, node: ast.UnaryOp) -> Iterator[Edit]:
    if isinstance(node.op, ast.Not):
        start, _ = code.span(node)
        spaces = re.compile(r"not\s*").match(code.source, start)
        yield start, spaces.end() if spaces else start, "", node


def _constant(code: Code, node: ast.Constant) -> Iterator[Edit]:
    start, end = code.span(node)
    statement = code.enclosing(node, ast.stmt) or node
    shown = node if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else statement
    shown = _argument(code, node) or (shown if code.line_of(code.span(shown)[1]) == node.lineno else node)
    if isinstance(node.value, bool):
        yield start, end, str(not node.value), shown
    elif isinstance(node.value, int | float):
        yield start, end, str(node.value + 1), shown


def _argument(code: Code, node: ast.AST) -> ast.AST | None:
    """Return the keyword or the parameter whose value a constant is, to show its name."""
    parent = code.parents[node]
    if isinstance(parent, ast.keyword):
        return parent
    return None


def _condition(code: Code, node: ast.If | ast.IfExp) -> Iterator[Edit]:
    for text in ("True", "False"):
        yield (*code.span(node.test), text, node.test)


def _filter(code: Code, node: ast.comprehension) -> Iterator[Edit]:
    for test in node.ifs:
        yield (*code.span(test), "True", test)


def _return(code: Code, node: ast.Return) -> Iterator[Edit]:
    function = code.enclosing(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    declared = ast.unparse(function.returns) if getattr(function, "returns", None) else ""  # type: ignore[union-attr,arg-type]
    if node.value is None or isinstance(node.value, ast.Constant) or declared == "None":
        return
    start, end = code.span(node.value)
    if declared == "bool":
        yield start, end, f"not ({code.source[start:end]})", node
    else:
        yield start, end, "None", node


def _statement(code: Code, node: ast.Raise | ast.Expr) -> Iterator[Edit]:
    value = node.value if isinstance(node, ast.Expr) else node
    inner = value.value if isinstance(value, ast.Await) else value
    if isinstance(inner, ast.Call | ast.Raise):
        yield (*code.span(node), "pass", node)


def _arithmetic(code: Code, node: ast.BinOp) -> Iterator[Edit]:
    texts = any(isinstance(side, TEXTS) and not _is_number(side) for side in (node.left, node.right))
    if type(node.op) in ARITHMETIC and not texts:
        yield from _between(code, node.left, node.right, ARITHMETIC[type(node.op)], node)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _increment(code: Code, node: ast.AugAssign) -> Iterator[Edit]:
    if type(node.op) in ARITHMETIC and not isinstance(node.value, ast.JoinedStr | ast.List | ast.Tuple):
        yield from _between(code, node.target, node.value, ARITHMETIC[type(node.op)], node)


def _call(code: Code, node: ast.Call) -> Iterator[Edit]:
    if isinstance(node.func, ast.Name) and node.func.id in {"min", "max"}:
        yield (*code.span(node.func), "max" if node.func.id == "min" else "min", node)


def _message(code: Code, node: ast.Call) -> Iterator[Edit]:
    """Give changes of the texts that a refusal is made of; an f-string is changed at its first letter."""
    if not SPEAKERS.search(ast.unparse(node.func)):
        return
    for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
        if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            start, end = code.span(value)
            quote = re.compile(r"""[a-zA-Z]*("{3}|'{3}|"|')""").match(code.source, start)
            if quote and quote.end() < end - 1:
                yield quote.end(), quote.end(), "XX", value


def _jump(code: Code, node: ast.Continue | ast.Break) -> Iterator[Edit]:
    yield (*code.span(node), "break" if isinstance(node, ast.Continue) else "continue", node)


MUTATORS: dict[type[ast.AST], tuple[tuple[str, Callable[[Code, ast.AST], Iterator[Edit]]], ...]] = {
    ast.Compare: (("comparison", _comparison),),  # type: ignore[dict-item]
    ast.BoolOp: (("and/or", _connective),),  # type: ignore[dict-item]
    ast.UnaryOp: (("not removed", _negation),),  # type: ignore[dict-item]
    ast.Constant: (("constant", _constant),),  # type: ignore[dict-item]
    ast.If: (("condition", _condition),),  # type: ignore[dict-item]
    ast.IfExp: (("condition", _condition),),  # type: ignore[dict-item]
    ast.comprehension: (("condition", _filter),),  # type: ignore[dict-item]
    ast.Return: (("return value", _return),),  # type: ignore[dict-item]
    ast.Raise: (("statement removed", _statement),),  # type: ignore[dict-item]
    ast.Expr: (("statement removed", _statement),),  # type: ignore[dict-item]
    ast.BinOp: (("arithmetic", _arithmetic),),  # type: ignore[dict-item]
    ast.AugAssign: (("arithmetic", _increment),),  # type: ignore[dict-item]
    ast.Call: (("min/max", _call), ("text", _message)),  # type: ignore[dict-item]
    ast.Continue: (("jump", _jump),),  # type: ignore[dict-item]
    ast.Break: (("jump", _jump),),  # type: ignore[dict-item]
}
