"""Every relative link of the documentation leads somewhere, its anchor included, and so does every
page and heading that a source, a message or the chart names; every page is in the index
(docs/README.md)."""

import pathlib
import re
import subprocess
import urllib.parse

import markdown
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked(*patterns):
    """Files under version control, and new ones that are not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, text=True, capture_output=True, check=True,
    )
    return sorted({path for name in listed.stdout.split("\0") if (path := ROOT / name).is_file()})


PAGES = [page for page in tracked("*.md") if "data" not in page.relative_to(ROOT).parts]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def fault(page, target):
    """What is wrong with a link of a page, or nothing."""
    parts = urllib.parse.urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    path = urllib.parse.unquote(parts.path)
    there = (page.parent / path).resolve() if path else page
    if ROOT not in (there, *there.parents):
        return "leads out of the repository"
    if not there.exists():
        return "no such file"
    if not parts.fragment or there.suffix != ".md":
        return None
    if urllib.parse.unquote(parts.fragment) not in markdown.anchors(there.read_text()):
        return "no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    faults = [
        f"{name_of(page)}:{line}: {target}: {what}"
        for line, target in markdown.links(page.read_text())
        if (what := fault(page, target))
    ]
    assert not faults, "\n".join(faults)


MENTION = re.compile(r'(?<![\w/.-])(docs/[\w./-]+\.md)(?:#([\w-]+)|,? +\\?"([^"\\\n]+)\\?")?')
TEXTS = (".cpp", ".h", ".def", ".py", ".sh", ".yaml", ".yml", ".tpl", ".txt", ".md", ".json")


def joined(text):
    """Texts and comments of sources without their line breaks."""
    return re.sub(r'(?<!\\)"\s*\n\s*"|\n\s*(?://|#)(?= )', "", text)


def has_heading(text, heading):
    """As a heading, or as the bold words that a paragraph begins with."""
    return heading in markdown.HEADING.findall(text) or re.search(
        rf"^\*\*{re.escape(heading)}", text, re.M)


def test_pages_that_any_file_names_are_there():
    """A message, a comment, the chart: docs/page.md, with the heading that it names."""
    faults = []
    for path in tracked():
        if path.suffix not in TEXTS or path == pathlib.Path(__file__).resolve():
            continue
        for name, anchor, heading in MENTION.findall(joined(path.read_text(errors="replace"))):
            page = ROOT / name
            if not page.is_file():
                faults.append(f"{name_of(path)}: {name}: no such file")
            elif anchor and anchor not in markdown.anchors(page.read_text()):
                faults.append(f"{name_of(path)}: {name}#{anchor}: no such heading")
            elif heading and not has_heading(page.read_text(), heading):
                faults.append(f'{name_of(path)}: {name}, "{heading}": no such heading')
    assert not faults, "\n".join(faults)


def test_index_names_every_page():
    index = ROOT / "docs" / "README.md"
    named = {
        (index.parent / urllib.parse.urlsplit(target).path).resolve()
        for _, target in markdown.links(index.read_text())
    }
    # A named folder, or its README, stands for the pages in it.
    folders = {p for p in named if p.is_dir()} | {p.parent for p in named if p.name == "README.md"}
    missing = [
        name_of(page)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page != index and page not in named and page.parent not in folders - {index.parent}
    ]
    assert not missing, f"docs/README.md does not name {', '.join(missing)}"


def test_index_of_decisions_names_each():
    folder = ROOT / "docs" / "decisions"
    named = {target for _, target in markdown.links((folder / "README.md").read_text())}
    assert named == {page.name for page in folder.glob("0*.md")}


def test_readme_leads_to_the_index():
    targets = [target for _, target in markdown.links((ROOT / "README.md").read_text())]
    assert "docs/README.md" in targets


def test_links_lead_to_what_is_committed():
    """A link to a file that only this machine has (built, or ignored) is broken."""
    ignored = subprocess.run(
        ["git", "check-ignore", "--stdin"], cwd=ROOT, text=True, capture_output=True, check=False,
        input="\n".join(
            name_of((page.parent / urllib.parse.urlsplit(target).path).resolve())
            for page in PAGES
            for _, target in markdown.links(page.read_text())
            if urllib.parse.urlsplit(target).path and not urllib.parse.urlsplit(target).scheme
        ),
    )
    assert ignored.returncode in (1, 128), f"ignored by git: {ignored.stdout}"


# Reading links and anchors, on small texts.


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a [b](c.md) d", [(1, "c.md")]),
        ("a\n[b `x`](c.md#d-e)", [(2, "c.md#d-e")]),
        ("[![p](i.svg)](t.md)", [(1, "i.svg"), (1, "t.md")]),
        ("`[b](c.md)`", []),
        ("```\n[b](c.md)\n```\n[d](e.md)", [(4, "e.md")]),
        ("text\n\n    [b](c.md)\n\n[d](e.md)", [(5, "e.md")]),
        ('<img src="a.svg" alt="b">', [(1, "a.svg")]),
        ("[b]: c.md", [(1, "c.md")]),
    ],
)
def test_links_are_found(text, expected):
    assert markdown.links(text) == expected


@pytest.mark.parametrize(
    "heading, expected",
    [
        ("# What it finds", "what-it-finds"),
        ("## MPS v3, and static SM partitions", "mps-v3-and-static-sm-partitions"),
        ("### An image with its own /etc/ld.so.preload", "an-image-with-its-own-etcldsopreload"),
        ("## `tranche limit`: [how](a.md)", "tranche-limit-how"),
        ("## Same\n## Same", "same-1"),
    ],
)
def test_anchors_are_githubs(heading, expected):
    assert expected in markdown.anchors(heading)
