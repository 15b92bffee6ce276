"""The commands and flags of our programs, as they print them, and of others'
(names_of_others.py)."""

import functools
import os
import pathlib
import re
import subprocess

import names_of_others as others
from tree import ROOT, text_of

BUILD = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()
# Programs of the tree without a command table; their flags are in their sources.
TOOLS = ("lab/", "tools/", "tests/", "sim/", "src/programs/load/", "Makefile")


def flags_in(text):
    """Those that a help text explains."""
    lines = re.findall(r"^ {1,4}(?:-\w, ?)?(--.*?)(?:  |$)", text, re.M)
    return {flag for line in lines for flag in re.findall(r"--[a-z][a-z0-9-]*", line)}


def told(name, *arguments):
    """The output of our program, called by a name."""
    done = subprocess.run([name, *arguments], executable=BUILD / "bin" / "tranche", text=True,
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
