#!/usr/bin/env python3
"""Makes docs/images/demo.svg: the end of `make demo`, from what the demo really prints.

    tools/picture.py [--demo build/bin/tranche-demo] [--output docs/images/demo.svg]

The demo runs in a pseudo terminal, as for a person. The picture is a plain SVG: no font of its own,
no style sheet, no script. Every word has its place and its length, so that it looks the same with
any fixed-width font; squares and ticks are drawn, for fonts disagree about their width.
tests/docs/test_picture.py compares the committed picture with what the demo prints today.
"""

import argparse
import os
import pathlib
import pty
import re
import sys
import textwrap
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent

COLUMNS = 100
CHAR, LINE, SIZE = 8.4, 20, 14  # width of a character, height of a line, size of the type, in px
LEFT, TOP, BAR = 22, 16, 34  # margins, and the height of the window's bar

PLAIN, DIM, BOLD = "#c9d1d9", "#8b949e", "#ffffff"
COLOURS = {"31": "#ff7b72", "32": "#56d364", "33": "#e3b341", "36": "#79c0ff"}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# What is shown: the title with what is real and what is not, then the end.
HEAD = re.compile(r"^Tranche: .*schedulable")
END = re.compile(r"^ *\d+ +Eleven Pods")
AFTER = re.compile(r"^Where to go next")


def run(demo):
    """The demo's output as a terminal gets it; its exit code must be 0."""
    os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS))
    os.environ.pop("NO_COLOR", None)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(demo, [demo])
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # what Linux says when the other end is closed
            part = b""
        if not part:
            break
        seen += part
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        sys.exit(f"{demo} ended with {code}:\n{seen.decode(errors='replace')}")
    return seen.decode()


def screen(output):
    """Lines of (text, style) runs, as they stand when the demo has ended."""
    for raw in output.replace("\r\n", "\n").split("\n"):
        # A progress line is written again and again from its first column: the last one stands.
        raw = re.split(r"\r(?:\x1b\[K)?", raw)[-1]
        runs, style = [], ""
        for piece in re.split(r"(\x1b\[[0-9;]*[A-Za-z])", raw):
            if piece.startswith("\x1b["):
                style = piece[2:-1] if piece.endswith("m") else style
            elif piece:
                runs.append((piece, "" if style == "0" else style))
        yield runs


def text_of(runs):
    return "".join(text for text, _ in runs)


def shown(lines):
    """The part of the demo that the picture shows."""
    lines = list(lines)
    texts = [text_of(line) for line in lines]
    place = {
        name: next((i for i, text in enumerate(texts) if pattern.match(text)), None)
        for name, pattern in (("head", HEAD), ("end", END), ("after", AFTER))
    }
    if None in place.values():
        sys.exit(f"the demo's output has changed: {place}; tell tools/picture.py what to show")
    head = lines[place["head"] : texts.index("", place["head"] + 2)]
    end = lines[place["end"] : place["after"]]
    while end and not text_of(end[-1]):
        end.pop()
    prompt = [("$ ", "32"), ("make demo", "1")]
    return [prompt, *head, [], [("    ...", "2")], [], *end]


def colour(style):
    codes = style.split(";")
    for code in codes:
        if code in COLOURS:
            return COLOURS[code]
    return BOLD if "1" in codes else DIM if "2" in codes else PLAIN


def word(column, y, text, style):
    weight = ' font-weight="600"' if "1" in style.split(";") else ""
    return (
        f'<text x="{LEFT + column * CHAR:.1f}" y="{y}" fill="{colour(style)}"{weight} '
        f'textLength="{len(text) * CHAR:.1f}">{escape(text)}</text>'
    )


def drawn(column, y, sign, style):
    """A sign of one column as a shape."""
    x, paint = LEFT + column * CHAR, colour(style)
    if sign == "✔":
        path = f"M{x:.1f} {y - 5} l3 4 l5 -9"
        return f'<path d="{path}" fill="none" stroke="{paint}" stroke-width="2"/>'
    full = sign == "■"
    side, inset = (6.4, 1.0) if full else (5.4, 1.5)
    look = f'fill="{paint}"' if full else f'fill="none" stroke="{paint}"'
    return (
        f'<rect x="{x + inset:.1f}" y="{y - 9 + inset:.1f}" width="{side}" height="{side + 2}" {look}/>'
    )


# Where the lines of a box's sign lead: fonts leave gaps between the rows.
BOX = {"│": "ud", "─": "lr", "┌": "dr", "┐": "dl", "└": "ur", "┘": "ul", "┬": "lrd", "┴": "lru"}


def box_lines(column, y, text):
    """The path of a run's boxes. `y`: of the row's words."""
    top, half = y - SIZE, LINE / 2
    ends = {"u": f"v-{half}", "d": f"v{half}", "l": f"h-{CHAR / 2}", "r": f"h{CHAR / 2}"}
    return "".join(
        f"M{LEFT + (column + at + 0.5) * CHAR:.1f} {top + half}{ends[way]}"
        for at, sign in enumerate(text)
        for way in BOX.get(sign, "")
    )


def line_of(runs, y):
    column = 0
    for text, style in runs:
        # Words that one space parts stay together; everything else has its own place.
        signs = "✔■□" + "".join(BOX)
        for match in re.finditer(rf"[✔■□]|[^\s{signs}]+(?: [^\s{signs}]+)*", text):
            part = match.group(0)
            make = drawn if part in "✔■□" else word
            yield make(column + match.start(), y, part, style)
        if boxes := box_lines(column, y, text):
            yield f'<path d="{boxes}" fill="none" stroke="{DIM}"/>'
        column += len(text)


def folded(runs):
    """The rows of a line on a terminal of COLUMNS columns; what goes on is indented as the line is. Only a line of
    one style is folded."""
    text = text_of(runs)
    if len(text) <= COLUMNS or len(runs) != 1:
        return [runs]
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    rows = textwrap.wrap(text, COLUMNS, subsequent_indent=indent, drop_whitespace=True)
    return [[(row, runs[0][1])] for row in rows]


def svg(lines, title="The end of make demo: 2 schedulable GPUs have become 11"):
    rows = [row for line in lines for row in folded(line)]
    width = round(2 * LEFT + max(len(text_of(row)) for row in rows) * CHAR)
    height = BAR + 2 * TOP + len(rows) * LINE
    words = escape("\n".join(text_of(line).rstrip() for line in lines))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}" font-size="{SIZE}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{words}</desc>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" '
        'fill="#0d1117" stroke="#30363d"/>',
        *(
            f'<circle cx="{LEFT + 20 * i}" cy="{BAR // 2}" r="6" fill="{fill}"/>'
            for i, fill in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
        ),
    ]
    for number, row in enumerate(rows):
        parts += line_of(row, BAR + TOP + number * LINE + SIZE)
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--demo", default=str(ROOT / "build/bin/tranche-demo"))
    parser.add_argument("--output", default=str(ROOT / "docs/images/demo.svg"))
    options = parser.parse_args()
    if not os.access(options.demo, os.X_OK):
        sys.exit(f"no {options.demo}: make builds it")
    picture = svg(shown(screen(run(options.demo))))
    output = pathlib.Path(options.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(picture)
    print(f"{output}: {len(picture)} bytes")


if __name__ == "__main__":
    main()
