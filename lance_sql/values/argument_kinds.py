"""Arguments of a call that failed, compared with the annotations of the function: which one is of another kind."""

from __future__ import annotations

import ast
import inspect
import numbers
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

_WORDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "bytes": "bytes",
    "None": "None",
    "os.PathLike": "a path",
    "Sequence": "a list",
    "Iterable": "a list",
    "Iterator": "an iterator",
    "Mapping": "a dict",
    "Callable": "a function",
}


def misfit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Returns a message about the first argument whose kind is not the annotated one; None if there is none."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    places = {**vars(typing), **getattr(inspect.unwrap(function), "__globals__", {})}
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name in ("self", "cls"):
            continue
        tree = _parsed(parameter.annotation)
        if tree is not None and not _fits(value, tree, places):
            form = f"{_name(function)}({', '.join(_form(signature, name))})"
            return f"{name}={_short(value)} is not {_described(tree, places)}: write {form}"
    return None


def form(function: Callable[..., Any], *, with_options: bool) -> str:
    """Returns the form of a call, such as create_index(column, kind).

    with_options: also names the arguments that must be given by name
    """
    signature = inspect.signature(function)
    names = _form(signature, "")
    if with_options:
        options = [each for each in signature.parameters.values() if each.kind is each.KEYWORD_ONLY]
        names += [f"{each.name}=.." for each in options if each.default is not each.empty]
    return f"{_name(function)}({', '.join(names)})"


def _name(function: Callable[..., Any]) -> str:
    return function.__qualname__.removesuffix(".__init__").rpartition(".")[2]


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _form(signature: inspect.Signature, wrong: str) -> list[str]:
    """Returns the parameters to show: those by position, those that are needed, and the wrong one."""
    names = []
    for each in signature.parameters.values():
        if each.name in ("self", "cls") or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        if each.kind is not each.KEYWORD_ONLY:
            names.append(each.name)
        elif each.default is each.empty or each.name == wrong:
            names.append(f"{each.name}=..")
    return names


def _parsed(annotation: Any) -> ast.expr | None:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _options(tree: ast.expr) -> list[ast.expr]:
    """Splits a union into its members."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return [*_options(tree.left), *_options(tree.right)]
    return [tree]


def _fits(value: object, tree: ast.expr, places: Mapping[str, Any]) -> bool:
    return any(_fits_one(value, each, places) for each in _options(tree))


def _fits_one(value: object, tree: ast.expr, places: Mapping[str, Any]) -> bool:
    """Whether a value is of one kind. A kind that is not known here fits every value."""
    if isinstance(tree, ast.Constant):
        return value is None if tree.value is None else True
    name, inner = ast.unparse(tree), []
    if isinstance(tree, ast.Subscript):
        name = ast.unparse(tree.value).removeprefix("collections.abc.")
        inner = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
    if name == "Literal":
        known = [each.value for each in inner if isinstance(each, ast.Constant)]
        return any(type(value) is type(each) and value == each for each in known)
    if name in ("Sequence", "Iterable", "list", "tuple"):
        if isinstance(value, str | bytes) or not isinstance(value, Sequence if name == "Sequence" else Iterable):
            return False
        items = value.tolist() if hasattr(value, "tolist") else value if isinstance(value, Sequence) else ()
        if name == "tuple" and "..." not in map(ast.unparse, inner) and len(items) != len(inner):
            return False
        return not inner or all(_fits(item, inner[0], places) for item in items)
    if name in ("Mapping", "dict"):
        if not isinstance(value, Mapping):
            return False
        return len(inner) != 2 or all(_fits(item, inner[1], places) for item in value.values())
    if name == "Callable":
        return callable(value)
    return _is_of_class(value, name, places)


def _is_of_class(value: object, name: str, places: Mapping[str, Any]) -> bool:
    plain = {"int": numbers.Integral, "float": numbers.Real, "str": str, "bool": bool, "bytes": bytes}
    if name in plain:
        return isinstance(value, plain[name])
    if name == "os.PathLike":
        return hasattr(value, "__fspath__")
    first, *rest = name.split(".")
    found = reduce(lambda owner, each: getattr(owner, each, None), rest, places.get(first))
    if isinstance(found, types.UnionType) or typing.get_origin(found) is not None:
        tree = _parsed(found)
        return tree is None or _fits(value, tree, places)
    if found in (object, Any):
        return True
    if inspect.isclass(found):
        is_protocol = getattr(found, "_is_protocol", False)
        return all(hasattr(value, each) for each in _members(found)) if is_protocol else isinstance(value, found)
    if found is None and name[:1].isupper() and "." not in name:
        # imported for type checkers only: a class of ours, or of an engine
        return any(each.__name__ == name for each in type(value).__mro__) or type(value).__module__ != "builtins"
    return True


def _members(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if not name.startswith("_")]


def _described(tree: ast.expr, places: Mapping[str, Any]) -> str:
    words = []
    for each in _options(tree):
        name = ast.unparse(each.value if isinstance(each, ast.Subscript) else each).removeprefix("collections.abc.")
        if name == "Literal" and isinstance(each, ast.Subscript):
            inner = each.slice.elts if isinstance(each.slice, ast.Tuple) else [each.slice]
            words += [ast.unparse(one) for one in inner]
            continue
        found = places.get(name)
        alias = _parsed(found) if isinstance(found, types.UnionType) or typing.get_origin(found) is not None else None
        if alias is not None and name not in _WORDS:
            words.append(_described(alias, places))
        else:
            words.append(_WORDS.get(name, f"a {name.rpartition('.')[2]}"))
    words = [word for word in dict.fromkeys(words) if word != "None"] or ["None"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
