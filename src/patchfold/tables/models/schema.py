"""The schema of a model file: what it names is looked up in a table, then rebuilt.

`schema.json` is a tree of nodes, each with a loader of skops and the name of a type. A
file may name only what patchfold itself writes: its estimators, the encoders that
`patchfold embed` builds, NumPy arrays and plain Python values. skops trusts
far more, among them every estimator of scikit-learn. Each of those has fitted
attributes that nothing here checks, and some of them index memory: so they are refused
unless the user names them.

The tree that skops gets is made anew from what is known of each loader. References
between nodes (`__id__`) are left out. With them a few kilobytes can stand for a tree of
any size, which skops follows path by path. Only arrays keep one, so that an array that
is used twice is read once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ...estimators.stored.rules import FittedError
from .archive import check_array, check_sparse

Node = dict[str, Any]

DEPTH = 60
"""Most nodes that may lie within each other; skops follows them by recursion."""

MOVED = {
    "patchfold.estimators.posterior.PatchPosterior": (
        "patchfold.estimators.patch_posterior.PatchPosterior"
    )
}
"""Full names of types that files of older versions have, and their names today."""

_SCALARS = (
    *("bool", "bool_", "str_", "float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
_NUMPY = frozenset(f"numpy.{name}" for name in _SCALARS)
_PLAIN: dict[str, frozenset[str]] = {
    "DictNode": frozenset({"builtins.dict"}),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "JsonNode": frozenset({"builtins.str"}),
    "TypeNode": _NUMPY
    | {f"builtins.{name}" for name in ("str", "int", "float", "bool")},
    "NdArrayNode": frozenset({"numpy.ndarray"}) | _NUMPY,
    "DTypeNode": frozenset({"numpy.dtype"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SparseMatrixNode": frozenset(
        {"scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"}
    ),
}
"""Loaders of skops, and the types that patchfold's files have them load."""


class Cleaner:
    """Makes a schema anew from what is known and allowed.

    Parameters
    ----------
    parts : dict of str to bytes
        The parts of the file.
    classes : dict of str to collection of str
        Full names of the classes that a file may hold objects of, and the attributes
        that are read of each; others are dropped.
    moved : dict of str to str
        Names that stand for other ones besides `MOVED`.

    Attributes
    ----------
    known : set of str
        Names that were found and are allowed.
    foreign : set of str
        Other names that were found: only the user can allow them.
    used : set of str
        Parts that the schema refers to.
    """

    def __init__(
        self,
        parts: dict[str, bytes],
        classes: dict[str, Collection[str]],
        moved: dict[str, str],
    ) -> None:
        self._parts, self._classes = parts, classes
        self._moved = {**moved, **MOVED}
        self.known: set[str] = set()
        self.foreign: set[str] = set()
        self._arrays: dict[tuple[str, str], int] = {}
        self._size = sum(len(content) for content in parts.values())
        self._grown = 0
        self._loaders: dict[str, Callable[[Node, int], Node]] = {
            "DictNode": self._dict,
            "ListNode": self._list,
            "TupleNode": self._list,
            "JsonNode": self._json,
            "TypeNode": lambda node, depth: {},
            "NdArrayNode": self._array,
            "DTypeNode": self._inside,
            "RandomStateNode": self._inside,
            "SparseMatrixNode": self._sparse,
        }

    @property
    def used(self) -> set[str]:
        """Parts that the schema refers to."""
        return {part for part, _ in self._arrays}

    def clean(self, node: Any, depth: int = 0) -> Node:
        """Return a node, and all within it, made anew.

        Raises
        ------
        FittedError
            If it is no node, or lies too deep.
        """
        if depth > DEPTH:
            raise FittedError(f"schema.json nests more than {DEPTH} levels")
        if not isinstance(node, dict):
            raise FittedError("schema.json has a value where a node must be")
        module, last = node.get("__module__"), node.get("__class__")
        loader = node.get("__loader__")
        if not all(isinstance(word, str) for word in (module, last, loader)):
            raise FittedError("schema.json has a node without a type")
        name = f"{module}.{last}"
        name = self._moved.get(name, name)
        found = self.known
        if name in _PLAIN.get(str(loader), ()):
            content = self._loaders[str(loader)](node, depth)
        elif loader == "ObjectNode" and name in self._classes:
            content = self._object(node, depth, self._classes[name])
        else:
            content, found = self._foreign(node, depth), self.foreign
        found.add(name)
        module, _, last = name.rpartition(".")
        return {
            "__class__": last,
            "__module__": module,
            "__loader__": loader,
            **content,
        }

    def _children(self, nodes: Any, depth: int) -> list[Node]:
        if not isinstance(nodes, list):
            raise FittedError("schema.json has no list where one must be")
        return [self.clean(node, depth + 1) for node in nodes]

    def _list(self, node: Node, depth: int) -> Node:
        return {"content": self._children(node.get("content"), depth)}

    def _dict(self, node: Node, depth: int) -> Node:
        content = node.get("content")
        kinds = self._list(node.get("key_types") or {}, depth)["content"]
        if not isinstance(content, dict) or len(kinds) != len(content):
            raise FittedError("schema.json has a dict without its keys")
        if any(kind["__loader__"] != "TypeNode" for kind in kinds):
            raise FittedError("schema.json has a key without a type")
        values = {key: self.clean(value, depth + 1) for key, value in content.items()}
        return {"key_types": _list_of(kinds), "content": values}

    def _object(self, node: Node, depth: int, kept: Collection[str]) -> Node:
        attributes = node.get("content")
        if (
            not isinstance(attributes, dict)
            or attributes.get("__loader__") != "DictNode"
        ):
            raise FittedError("schema.json has an object without attributes")
        content = attributes.get("content")
        if not isinstance(content, dict):
            raise FittedError("schema.json has an object without attributes")
        inside = {
            key: self.clean(value, depth + 1)
            for key, value in content.items()
            if key in kept
        }
        return {"content": dict_node(inside)}

    def _json(self, node: Node, depth: int) -> Node:
        if not isinstance(node.get("content"), str):
            raise FittedError("schema.json has a value that is no text")
        return {"content": node["content"], "is_json": True}

    def _inside(self, node: Node, depth: int) -> Node:
        return {"content": self.clean(node.get("content"), depth + 1)}

    def _array(self, node: Node, depth: int) -> Node:
        if node.get("type") == "json":
            return {
                "type": "json",
                "content": self._children(node.get("content"), depth),
                "shape": self.clean(node.get("shape"), depth + 1),
            }
        if node.get("type") != "numpy":
            raise FittedError("schema.json has an array of no known type")
        file, kind = self._part(node), str(node["__class__"])
        if (file, kind) not in self._arrays:  # a part is checked once
            shape = check_array(file, self._parts[file])
            if kind != "ndarray" and shape != ():
                raise FittedError(
                    f"the part {file} must be one number, and has shape {shape}"
                )
        return {"type": "numpy", **self._reference(file, kind)}

    def _sparse(self, node: Node, depth: int) -> Node:
        file = self._part(node)
        if (file, "") not in self._arrays:
            self._grown += check_sparse(
                file, self._parts[file], self._size, self._grown
            )
        return {"type": "scipy", **self._reference(file, "")}

    def _reference(self, file: str, kind: str) -> Node:
        number = self._arrays.setdefault((file, kind), len(self._arrays) + 1)
        return {"file": file, "__id__": number}

    def _part(self, node: Node) -> str:
        file = node.get("file")
        if not isinstance(file, str) or file not in self._parts:
            raise FittedError(f"the part {file} is missing")
        return file

    def _foreign(self, value: Any, depth: int) -> Any:
        """Copy a node that only the user can allow; nodes within it are made anew."""
        if depth > DEPTH:
            raise FittedError(f"schema.json nests more than {DEPTH} levels")
        copied = {}
        for key, part in value.items():
            if key == "file":
                self._arrays.setdefault((self._part(value), "any"), -1)
            copied[key] = self._foreign_part(part, depth + 1)
        copied.pop("__id__", None)
        return copied

    def _foreign_part(self, part: Any, depth: int) -> Any:
        if isinstance(part, dict) and "__loader__" in part:
            return self.clean(part, depth)
        if isinstance(part, dict):
            return self._foreign(part, depth)
        if isinstance(part, list):
            return [self._foreign_part(item, depth + 1) for item in part]
        return part


def _list_of(nodes: list[Node]) -> Node:
    return {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": nodes,
    }


def dict_node(values: dict[str, Node]) -> Node:
    """Return the node of a dict whose keys are words."""
    word = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    return {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "key_types": _list_of([word] * len(values)),
        "content": values,
    }


def value_node(value: Any) -> Node:
    """Return the node of a plain value."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def objects_in(node: Any) -> Iterator[Node]:
    """Yield the nodes of objects in a schema that was made anew."""
    waiting = [node]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            if value.get("__loader__") == "ObjectNode":
                yield value
