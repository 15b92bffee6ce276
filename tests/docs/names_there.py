"""Whether what a page names exists: in the tree, in the programs' own description of their flags,
or in the short lists of others' names (names_of_others.py)."""

import fnmatch
import functools
import json
import pathlib
import re

import names_of_others as others
import reasons
from program_flags import has_command, has_flag
from tree import ROOT, ends_of_words, text_of, tracked, words

ALERTS = ROOT / "deploy" / "helm" / "tranche" / "files" / "alerts.yaml"


# Paths.


@functools.cache
def folders():
    return {parent.as_posix() for name in tracked() for parent in pathlib.PurePath(name).parents}


@functools.cache
def everything_tracked():
    return {*tracked(), *folders()}


@functools.cache
def places():
    """What a path may begin at: the tree, a wing's folder, the simulated machine, the tests."""
    wings = [p.relative_to(ROOT).as_posix() + "/" for p in (ROOT / "src").iterdir() if p.is_dir()]
    return ["", "src/", *wings, "sim/", "tests/", "docs/"]


def is_in_tree(path):
    everything = everything_tracked()
    if "*" in path:
        return any(fnmatch.filter(everything, place + path) for place in places())
    return any(place + path in everything for place in places())


def pieces(path):
    """The fixed parts of a path, between the variable ones: <tenant>, NAME, ..., *."""
    return [p.strip("/") for p in re.split(r"\*|\b[A-Z]+\b", path) if re.search(r"[a-z]", p)]


def are_named(path):
    """Whether the sources have each folder's and file's name, for paths that are put together
    there."""
    stems = [name.rsplit(".", 1)[0].lstrip(".") for name in path.split("/")]
    return all(set(re.findall(r"\w+", stem)) <= words() for stem in stems)


def has_path(path):
    """In the tree, made by the build, or on a node: then the sources name it."""
    path = re.sub(r"<[^<>]*>|\.\.\.", "*", path).strip().rstrip("/}")
    if any(fnmatch.fnmatch(path, theirs) for theirs in others.PATHS):
        return True
    if not pieces(path) or is_in_tree(path):
        return True
    first = path.split("/")[0]
    if first in others.KINDS:
        return True
    if first in {name.split("/")[0] for name in tracked()}:
        return False
    if first == "build" or not first.islower() and not path.startswith("/"):
        return all(are_named(piece) for piece in pieces(path))
    folder, _, name = pieces(path)[0].rpartition("/")
    return f"{folder}/{name}".strip("/") in text_of() or folder in text_of() and are_named(name)


# Labels, annotations, attributes, resources.


@functools.cache
def labels():
    """Labels that the sources write in full, and those of the generated page."""
    page = (ROOT / "docs" / "reference" / "labels.md").read_text()
    return text_of("src/", "deploy/") + page


@functools.cache
def whole_labels():
    return set(re.findall(r"(?:[a-z0-9-]+\.)+[a-z]+/[\w.<>-]*[\w>]", labels()))


def has_label(name):
    name = re.sub(r"^requests\.|[-.]$", "", re.sub(r"\.\.\.$", "*", name))
    if name in others.LABELS or re.fullmatch(r"nvidia\.com/mig-[\w.+<>-]*", name):
        return True
    name = re.sub(r"(?<=tranche\.dev/)gpu\.shared(?=\.limits)", "<resource>", name)
    fixed = re.split(r"[<*]|\b[A-Z]{2,}\b", name)[0]
    if fixed != name:
        return fixed in labels()
    if name in whole_labels():
        return True
    domain, word = name.split("/", 1)
    return domain in ("gpu.nvidia.com", "tranche.dev") and f'"{word}"' in labels()


def is_key(path):
    """DOMAIN/NAME: a label or an API group, not a path; ours are looked up as labels."""
    return bool(re.match(r"(?:[a-z0-9-]+\.)+[a-z0-9-]+/", path)) and not is_in_tree(path)


# Values of the chart.


@functools.cache
def chart_schema():
    return json.loads((ROOT / "deploy" / "helm" / "tranche" / "values.schema.json").read_text())


def has_value(path):
    """A value that the chart's schema knows; words before a = that begin like none of ours are
    ignored."""
    schema = chart_schema()
    if path.split(".")[0] not in schema["properties"]:
        return True
    for key in path.split("."):
        if not (known := schema.get("properties")):
            return True  # a map whose keys are the user's
        if key not in known:
            return False
        schema = known[key]
    return True


@functools.cache
def has(kind, name, command):
    """Whether what a page names (page_names.names) exists."""
    if kind == "flag":
        return has_flag(name, command)
    if kind in ("command", "value"):
        return has_command(name) if kind == "command" else has_value(name)
    if kind == "path":
        return is_key(name) or has_path(name)
    if kind == "label":
        return has_label(name)
    if kind == "word" and name.startswith("Tranche"):
        alerts = re.findall(r"alert: (\w+)", ALERTS.read_text())
        return name in reasons.NAMES or name in alerts
    if kind == "variable" and name in ends_of_words():
        return True
    return name in words() or name in others.WORDS
