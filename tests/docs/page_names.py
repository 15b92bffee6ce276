"""What a page names in code: paths, our commands, flags with their program, labels, environment
variables, words like reasons, metrics, values of the chart (a.b=c). Whether they exist is up to
names_there.py."""

import re

import markdown

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
LABEL = re.compile(r"(?:[a-z0-9-]+\.)*(?:tranche\.dev|nvidia\.com)/[A-Za-z0-9][\w.<>*-]*")
VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b")
WORD = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+")
COMMAND = re.compile(r"(?:kubectl |build/bin/)?(tranche(?: [a-z][a-z-]*){1,2})(?=[\s,;:.]|$)")
VALUE = re.compile(r"(?<![\w./:'-])([a-z][A-Za-z]*(?:\.[A-Za-z]+)+)(?==)")
METRIC = re.compile(r"\btranche_[a-z_]+\b")
PATH = re.compile(r"[\w.<>{}*,+-]*(?:/[\w.<>{}*,+-]*)+")
# What separates two commands of a line, and what may precede a command's name.
BETWEEN = re.compile(r"\|\|?|&&|;|\$\(|[<>]\(|(?<=\s)--(?=\s)")
BEFORE = re.compile(r"^(?:\s|\(|\$ |sudo |exec |watch |[A-Z_]+=(?:\"[^\"]*\"|\S*)\s)+")


def code(text):
    """(line, text, whether it is a block) of all code: spans in prose, and blocks."""
    plain = markdown.prose(text)
    for match in markdown.CODE_SPAN.finditer(plain):
        words = re.sub(r"\s+", " ", match.group(2)).replace("\\|", "|")
        yield plain.count("\n", 0, match.start()) + 1, words.strip(), False
    for line, block in markdown.code_blocks(text):
        yield line, block, True


def commands(text):
    """The commands of a piece of code, each without what precedes its name."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        for command in BETWEEN.split(re.sub(r"(?:^|\s)#\s.*", "", line)):
            yield BEFORE.sub("", command)


def expanded(path):
    """`a/{b,c}` is two paths."""
    if not (match := re.search(r"\{([^{}]*)\}", path)):
        return [path]
    head, tail = path[: match.start()], path[match.end():]
    return [one for word in match.group(1).split(",") for one in expanded(head + word + tail)]


def paths(text, is_block):
    """A span that is a path as a whole; in a block each word with a slash."""
    for word in text.split() if is_block else [text]:
        if PATH.fullmatch(word) and re.search(r"[a-z]", word):
            yield from expanded(word.rstrip(",.") if is_block else word)


def names(text):
    """(line, kind, name, program) of all that a page names; the program only of a flag."""
    for line, words, is_block in code(text):
        for command in commands(words):
            yield from ((line, "flag", flag, command) for flag in FLAG.findall(command))
            if match := COMMAND.match(command):
                yield line, "command", match.group(1), ""
        for kind, pattern in (("label", LABEL), ("variable", VARIABLE), ("metric", METRIC),
                              ("value", VALUE)):
            yield from ((line, kind, name, "") for name in pattern.findall(words))
        if not is_block and WORD.fullmatch(words):
            yield line, "word", words, ""
        yield from ((line, "path", path, "") for path in paths(words, is_block))
