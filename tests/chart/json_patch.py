"""A JSON patch (RFC 6902) applied: the operations that the webhook sends."""

import copy


def patched(item: dict, operations: list[dict]) -> dict:
    item = copy.deepcopy(item)
    for operation in operations:
        *way, last = [
            step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]
        ]
        at = item
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        what, value = operation["op"], operation.get("value")
        if isinstance(at, list):
            if what == "add":
                at.insert(len(at) if last == "-" else int(last), value)
            elif what == "replace":
                at[int(last)] = value
            else:
                del at[int(last)]
        elif what == "remove":
            del at[last]
        else:
            at[last] = value
    return item
