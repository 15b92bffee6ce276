"""src/kubernetes/cluster/formats/reasons.def compared with the sources: the reasons of conditions
and Events come from it, and all of it is used."""

import re

import reasons

SOURCES = {
    path: path.read_text()
    for path in sorted(reasons.SOURCE.rglob("*"))
    if path.suffix in (".h", ".cpp") and not re.search(r"_test\.cpp$|_testing\.h$", path.name)
}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def places(pattern):
    return [
        f"{path.relative_to(reasons.ROOT)}: {match.group(0)}"
        for path, text in SOURCES.items()
        for match in re.finditer(pattern, without_comments(text))
    ]


def test_there_is_a_list():
    assert len(reasons.CONDITIONS) > 3 and len(reasons.EVENTS) > 10
    assert "ResourceWithheld" in reasons.EVENTS and "ConfigRefused" in reasons.CONDITION_REASONS


def test_every_name_is_there_once():
    assert sorted(reasons.NAMES) == sorted(set(reasons.NAMES))


def test_no_name_of_the_list_is_written_as_a_text():
    names = "|".join(reasons.NAMES)
    assert not places(rf'"(?:{names})"')


def test_no_reason_is_written_as_a_text():
    """Neither in the field of a notice, nor as the word before an Event's note."""
    assert not places(r'\.(?:reason|type)\s*=\s*"[A-Z]\w+"')
    assert not places(r'"Tranche[A-Z]\w+"')


def test_every_name_of_the_list_is_used():
    said = "\n".join(without_comments(text) for text in SOURCES.values())
    used = set(re.findall(r"\b(?:condition|reason)::k(\w+)", said))
    assert sorted(set(reasons.NAMES) - used) == []


def test_a_warning_of_the_list_is_one_in_the_code():
    """`.warning = true, .reason = ...` says what the list says."""
    kinds = {}
    pattern = re.compile(r'^EVENT\((\w+),\s*"[^"]*",\s*k(Warning|Normal)', re.M)
    for name, kind in pattern.findall(reasons.LIST.read_text()):
        kinds[name] = kind == "Warning"
    assert set(kinds) == set(reasons.EVENTS)
    told = re.compile(r"\.warning\s*=\s*(true|false),\s*\.reason\s*=\s*[\w:]*reason::k(\w+)")
    for text in SOURCES.values():
        for warning, name in told.findall(text):
            if name in kinds:
                assert kinds[name] == (warning == "true"), name
