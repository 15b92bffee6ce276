"""Whether what a page names is there: in the tree, in what the programs tell of their flags, or in
the short lists of what belongs to others (names_of_others.py)."""

import fnmatch
import functools
import os
import pathlib
import re
import subprocess

import names_of_others as others
import reasons

ROOT = reasons.ROOT
BUILD = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()
# Programs of the tree that have no command table; their flags stand in their sources.
TOOLS = ("lab/", "tools/", "tests/", "sim/", "src/programs/load/", "Makefile")


@functools.cache
def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, text=True, capture_output=True, check=True,
    )
    return sorted(name for name in listed.stdout.split("\0") if (ROOT / name).is_file())


@functools.cache
def text_of(*folders):
    """The sources below some folders, all of them without one; neither pages nor these tests."""
    chosen = [
        name
        for name in tracked()
        if name.startswith(folders or "") and not name.startswith(("tests/docs/", "docs/"))
        and not name.endswith((".md", ".svg"))
    ]
    return "\n".join((ROOT / name).read_text(errors="replace") for name in chosen)


@functools.cache
def words():
    return set(re.findall(r"\w+", text_of()))


@functools.cache
def ends_of_words():
    """"OUT_OF_MEMORY" of CUDA_ERROR_OUT_OF_MEMORY, as pages write errors for short."""
    return {word[at + 1:] for word in words() if word.isupper() for at, c in enumerate(word)
            if c == "_"}


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
    """What is fixed in a path, between what differs: <tenant>, NAME, ..., *."""
    return [p.strip("/") for p in re.split(r"\*|\b[A-Z]+\b", path) if re.search(r"[a-z]", p)]


def are_named(path):
    """Whether the sources have each folder's and file's name, for what is put together there."""
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


# Flags.


def flags_in(text):
    """Those that a help text explains."""
    lines = re.findall(r"^ {1,4}(?:-\w, ?)?(--.*?)(?:  |$)", text, re.M)
    return {flag for line in lines for flag in re.findall(r"--[a-z][a-z0-9-]*", line)}


def told(name, *arguments, program="tranche"):
    done = subprocess.run([name, *arguments], executable=BUILD / "bin" / program, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, f"{name} {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def listed(text):
    """The names below the headings of a help that list commands."""
    return [name for block in re.findall(r"^[^\n]*:\n((?:  [a-z][a-z-]* +.*\n)+)", text, re.M)
            for name in re.findall(r"^  ([a-z-]+)", block, re.M)]


@functools.cache
def flags_of_commands():
    """"limit set" -> its flags, of every command of ours."""
    flags = {"": set(), "reference": {"--man"}}
    for command in listed(told("tranche", "help")):
        text = told("tranche", command, "--help")
        flags[command] = flags_in(text)
        for word in listed(text):
            flags[f"{command} {word}"] = flags_in(told("tranche", command, word, "--help"))
    for name in ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager",
                 "mps-control-daemon"):
        flags[name] = flags_in(told(name, "--help"))
    return flags


@functools.cache
def flags_of_tools():
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text_of(*TOOLS)))


def of_tranche(arguments):
    """The flags of `tranche limit set POD`: of its longest command."""
    found = [word for word in arguments[:2] if re.fullmatch(r"[a-z-]+", word)]
    while found and " ".join(found) not in flags_of_commands():
        found.pop()
    own = flags_of_commands()[" ".join(found)]
    every = {f for name, flags in flags_of_commands().items() if name.startswith(" ".join(found))
             for f in flags}
    return (own if " " in " ".join(found) else every) | {"--help", "--version"}


def has_command(name):
    """"tranche limit set": a command, and where it has words one of them."""
    command, *word = name.removeprefix("tranche ").split()
    if command in ("help", "reference"):
        return True
    words_of_it = {n.split()[1] for n in flags_of_commands() if n.startswith(f"{command} ")}
    if command == "completion" or not words_of_it or not word:
        return command in flags_of_commands()
    return word[0] in words_of_it or word[0] == "help"


def flags_of(command):
    """The flags of the program that a command begins with; None where it begins with none known."""
    name, *arguments = command.split() or [""]
    name = name.split("/")[-1] if name.startswith(("build/", "/", "~")) else name
    if name == "kubectl" and arguments[:1] == ["tranche"]:
        name, *arguments = arguments
    if name == "tranche":
        return of_tranche(arguments)
    if name in flags_of_commands():
        return flags_of_commands()[name]
    if name in others.FLAGS:
        return others.FLAGS[name]
    if name.startswith(("tranche-", *TOOLS)):
        return flags_of_tools()
    return None


def has_flag(flag, command):
    if (known := flags_of(command)) is not None:
        return flag in known
    ours = {"--help", "--version"}.union(*flags_of_commands().values(), flags_of_tools())
    return flag in ours or any(flag in flags for flags in others.FLAGS.values())


# Labels, annotations, attributes, resources.


@functools.cache
def labels():
    """What the sources write in full, and the labels of the generated page."""
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
    """DOMAIN/NAME: a label or an API group, not a path; ours are looked for as labels."""
    return bool(re.match(r"(?:[a-z0-9-]+\.)+[a-z0-9-]+/", path)) and not is_in_tree(path)


@functools.cache
def has(kind, name, command):
    """Whether what a page names (page_names.names) is there."""
    if kind == "flag":
        return has_flag(name, command)
    if kind == "command":
        return has_command(name)
    if kind == "path":
        return is_key(name) or has_path(name)
    if kind == "label":
        return has_label(name)
    if kind == "word" and name.startswith("Tranche"):
        alerts = re.findall(r"alert: (\w+)", (ROOT / "deploy" / "alerts.yaml").read_text())
        return name in reasons.NAMES or name in alerts
    if kind == "variable" and name in ends_of_words():
        return True
    return name in words() or name in others.WORDS
