"""What the tests of the documentation need of Markdown: links, headings' anchors, tables."""

import re
import textwrap

FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.M | re.S)
CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.S)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\](?:\([^)]*\))?)*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
IMAGE = re.compile(r"!\[[^\[\]]*\]\(\s*<?([^)\s>]+)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s*(\S+)", re.M)
HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"", re.S)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
HTML_ANCHOR = re.compile(r"<a\b[^>]*?\b(?:id|name)=\"([^\"]+)\"")


def prose(text):
    """The text without fenced and indented code, line for line."""
    blank = lambda match: "\n" * match.group(0).count("\n")  # noqa: E731
    # An indented line below a list item is prose, so only blocks after an empty line are removed.
    text = FENCE.sub(blank, text)
    return re.sub(r"(?<=\n\n)(?:(?: {4}|\t)\S[^\n]*\n(?:\n(?= {4}))?)+", blank, text)


def code_blocks(text):
    """(line, text) of every block of code, fenced or indented, without its indentation."""
    fenced = re.compile(r"^```\w*\n(.*?)^```", re.M | re.S)
    indented = re.compile(r"(?:(?<=\n\n)|\A)((?: {4}.*\n|\n(?= {4}))+)")
    for pattern in (fenced, indented):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start(1)) + 1, textwrap.dedent(match.group(1))


def links(text):
    """(line, target) of every link and picture, in order."""
    plain = prose(text)
    bare = CODE_SPAN.sub(lambda m: "`" + "\n" * m.group(0).count("\n") + "`", plain)
    places = {
        (match.start(1), match.group(1))
        for pattern in (LINK, IMAGE, REFERENCE, HTML)
        for match in pattern.finditer(bare)
    }
    return [(bare.count("\n", 0, start) + 1, target) for start, target in sorted(places)]


def anchors(text):
    """The names that GitHub gives the headings, and anchors written by hand."""
    names, seen = set(HTML_ANCHOR.findall(text)), {}
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
        again = seen.get(name, -1) + 1
        seen[name] = again
        names.add(f"{name}-{again}" if again else name)
    return names


def section(text, heading):
    """The text below a heading, up to the next one of the same or a higher level."""
    match = re.search(rf"^(#+) {re.escape(heading)}[ \t]*$", text, re.M)
    assert match, f"no heading '{heading}'"
    rest = text[match.end():]
    end = re.search(rf"^#{{1,{len(match.group(1))}}} ", rest, re.M)
    return rest[: end.start()] if end else rest


def rows(text):
    """The cells of the rows of the first table in a text, without its head."""
    lines = []
    for line in text.splitlines():
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            break
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines[2:]]
