"""The files of the tree, and the texts and words of its sources, for the tests of the documentation."""

import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


@functools.cache
def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, text=True, capture_output=True, check=True,
    )
    return sorted(name for name in listed.stdout.split("\0") if (ROOT / name).is_file())


@functools.cache
def text_of(*folders):
    """The sources below some folders, by default all; neither pages nor these tests."""
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
