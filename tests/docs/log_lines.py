"""Warnings and errors that the programs log, as written in the sources.

A line is the literal text of a call log.warn(...) or log.error(...), with a "…" for each value in
it. A call without its own text (it passes an error on) is ignored: the error's text is in the
runbook's table by its own words, or is the kernel's or the API server's."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
# Straight into the log, or into the warnings that its caller logs.
CALL = re.compile(
    r"\b\w*log_?(?:\(\))?(?:\.|->)(?:warn|error)\(|\bcomplain\(|LogLevel::k(?:Warn|Error),"
    r"|\bwarnings_?\.(?:push|emplace)_back\("
    r'|(?<!log_)(?<!log)(?:\b|\.)warn\((?:"\w+",)?(?!std::|fmt::format_)'
)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Programs in containers and on the host without our log. Errors in a configuration file come with
# file, line and remedy. The limiter's library is in limiter_lines().
OTHERS = ("interpose", "load", "hook", "config")


def balanced(text, start):
    """The text from `start` up to the bracket that closes what was opened before it."""
    depth, at, quoted = 1, start, False
    while depth and at < len(text):
        char = text[at]
        if quoted:
            at += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        at += 1
    return text[start : at - 1]


def line_of(call):
    """The concatenated texts of a call: adjacent literals are one."""
    words = re.sub(r'"\s*\n?\s*"', "", call)
    texts = [text for text in TEXT.findall(words) if text]
    joined = " ".join(texts).replace('\\"', '"').replace("\\\\", "\\")
    return re.sub(r"\{\{", "{", re.sub(r"\}\}", "}", re.sub(r"\{[^{}]*\}", "…", joined)))


def lines():
    """(place, line) of every warning and error with a text."""
    for path in sorted(SOURCE.rglob("*.cpp")):
        room = path.relative_to(SOURCE).parts[1]
        if room in OTHERS or re.search(r"_test\.cpp$", path.name):
            continue
        text = re.sub(r"^\s*//[^\n]*", "", path.read_text(), flags=re.M)
        for match in CALL.finditer(text):
            line = line_of(balanced(text, match.end()))
            if len(re.sub(r"\W", "", line)) > 3:
                yield f"{path.relative_to(SOURCE)}", line


def limiter_lines():
    """(place, line) of what libtranche-limit.so writes to a program's stderr."""
    for path in sorted((SOURCE / "container" / "interpose").glob("*.cpp")):
        text = path.read_text()
        for match in re.finditer(r"\bsay\((?=\")", text):
            yield path.name, line_of(balanced(text, match.end()))
        answers = re.search(r"^const char\* reason\(.*?^}", text, re.M | re.S)
        texts = r'return ((?:"(?:[^"\\]|\\.)*"\s*)+);'
        for answer in re.findall(texts, answers.group(0)) if answers else ():
            yield path.name, line_of(answer)
