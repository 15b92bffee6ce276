"""The fields of a kind, from what the API server tells of itself (OpenAPI), and another value for each."""

import copy
from collections.abc import Iterator

# Not deeper: what is below is of the same sort.
DEPTH = 3


class Schemas:
    def __init__(self, server, group_version: str):
        """group_version: "v1", "resource.k8s.io/v1"."""
        base = "apis" if "/" in group_version else "api"
        document = server.request("GET", f"/openapi/v3/{base}/{group_version}")
        self._all = document["components"]["schemas"]

    def of(self, kind: str, group_version: str) -> dict:
        group, _, version = group_version.rpartition("/")
        wanted = {"group": group, "version": version, "kind": kind}
        [found] = [s for s in self._all.values() if wanted in s.get("x-kubernetes-group-version-kind", [])]
        return found

    def whole(self, schema: dict) -> dict:
        """Without references."""
        for part in [schema, *schema.get("allOf", []), *schema.get("oneOf", [])]:
            if "$ref" in part:
                return self._all[part["$ref"].rpartition("/")[2]]
        return schema

    def fields(self, schema: dict, present: dict, path: tuple = ()) -> Iterator[tuple[tuple, dict]]:
        """Path and schema of each field; in a list that `present` has, those of its first item."""
        for name, of in sorted(self.whole(schema).get("properties", {}).items()):
            of, here, value = self.whole(of), (*path, name), present.get(name)
            items = self.whole(of.get("items", {}))
            if "properties" in of and len(here) < DEPTH:
                yield from self.fields(of, value or {}, here)
                continue
            yield here, of
            if "properties" in items and value and len(here) < DEPTH:
                yield from self.fields(items, value[0], (*here, 0))

    def example(self, schema: dict):
        """Some value of the schema's type."""
        schema = self.whole(schema)
        match schema.get("type"):
            case "array":
                return [self.example(schema["items"])]
            case "object" if "properties" in schema:
                needed = schema.get("required") or list(schema["properties"])[:1]
                return {name: self.example(schema["properties"][name]) for name in needed}
            case "object":
                return {"example.org/probe": self.example(schema.get("additionalProperties", {"type": "string"}))}
            case "integer":
                return 7
            case "boolean":
                return True
        if "enum" in schema:
            return next(value for value in schema["enum"] if value)
        return "2026-01-02T03:04:05.000000Z" if schema.get("format") == "date-time" else "7"


def text(path: tuple) -> str:
    return ".".join(map(str, path)).replace(".0.", "[].")


def at(value, path: tuple):
    """None: not there."""
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list):
            value = value[key] if key < len(value) else None
    return value


def put(value: dict, path: tuple, what) -> dict:
    """A copy with another value there; None: without it."""
    changed = copy.deepcopy(value)
    parent = changed
    for key in path[:-1]:
        parent = parent[key] if isinstance(key, int) else parent.setdefault(key, {})
    if what is None:
        parent.pop(path[-1], None)
    else:
        parent[path[-1]] = what
    return changed


def grown(now, example):
    """What is there and one more; or the other value."""
    if isinstance(now, list):
        return now + example
    if isinstance(now, dict):
        return now | example
    if isinstance(now, bool):
        return not now
    return example
