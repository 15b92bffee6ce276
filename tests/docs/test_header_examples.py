"""Examples in headers are whole: what is marked as YAML or JSON parses as such.

A formatter joins and breaks the lines of a comment, so an example is fenced:

    // clang-format off
    // Example (YAML):
    //     pools:
    //     - name: a100
    // clang-format on
"""

import json
import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
MARK = re.compile(r"// Example \((YAML|JSON)\):$")
OFF = "// clang-format off"
ON = "// clang-format on"


def examples(text):
    """(language, text, line, whether it is fenced) of each example of a header."""
    lines = [line.strip() for line in text.splitlines()]
    for number, line in enumerate(lines):
        mark = MARK.match(line)
        if mark is None:
            continue
        end = number + 1
        while end < len(lines) and lines[end].startswith("//  "):
            end += 1
        body = "\n".join(line[2:] for line in lines[number + 1 : end])
        fenced = lines[number - 1] == OFF and lines[end : end + 1] == [ON]
        yield mark.group(1), body, number + 1, fenced


def json_documents(text):
    """The values of a text of JSON values, one after the other."""
    decoder = json.JSONDecoder()
    text = text.strip()
    values = []
    while text:
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:].lstrip()
    return values


def headers():
    """All headers of the project."""
    for folder in ("src", "sim", "tests"):
        yield from sorted((ROOT / folder).rglob("*.h"))


FOUND = [
    pytest.param(*example, id=f"{header.relative_to(ROOT)}:{example[2]}")
    for header in headers()
    for example in examples(header.read_text(encoding="utf-8"))
]


def test_there_are_examples():
    assert len(FOUND) >= 4


@pytest.mark.parametrize(("language", "text", "line", "fenced"), FOUND)
def test_example_parses(language, text, line, fenced):
    assert fenced, f"line {line}: put {OFF!r} before the mark and {ON!r} after the example"
    values = list(yaml.safe_load_all(text)) if language == "YAML" else json_documents(text)
    assert values
    assert all(isinstance(value, (dict, list)) and value for value in values)


def test_a_torn_example_does_not_parse():
    """clang-format once made this of an example: three keys on one line."""
    torn = """
// Example (YAML):
//     - rollBackTo: all-disabled   # for nodes that had no label
//       got acceptOutage: false timeout: 30m
"""
    ((language, text, _, fenced),) = examples(torn)
    assert language == "YAML"
    assert not fenced
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(text)
