"""The picture in README shows what the demo prints today, except for what differs from run to
run."""

import html
import importlib.util
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()
PICTURE = ROOT / "docs" / "images" / "demo.svg"


def tool():
    spec = importlib.util.spec_from_file_location("picture", ROOT / "tools" / "picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(svg):
    """The words of a picture, without process ids."""
    words = re.search(r"<desc>(.*?)</desc>", svg, re.S).group(1)
    return re.sub(r"pids \d+ and \d+", "pids N and M", html.unescape(words))


def test_the_picture_is_the_demo(tmp_path):
    demo = BUILD / "bin" / "tranche-demo"
    assert demo.exists(), f"{demo} is not built: make"
    made = tmp_path / "demo.svg"
    subprocess.run([ROOT / "tools" / "picture.py", "--demo", demo, "--output", made], check=True)
    assert told(made.read_text()) == told(PICTURE.read_text()), "make it anew: tools/picture.py"


def test_the_picture_needs_nothing_from_elsewhere():
    svg = PICTURE.read_text()
    for word in ("<script", "<style", "<image", "href", "url(", "@font-face"):
        assert word not in svg


def test_the_picture_is_well_formed():
    root = xml.etree.ElementTree.parse(PICTURE).getroot()
    names = {element.tag.split("}")[1] for element in root.iter()}
    assert names == {"svg", "title", "desc", "rect", "circle", "path", "text"}


@pytest.mark.parametrize(
    "raw, expected",
    [
        ("a\r\nb", [[("a", "")], [("b", "")]]),
        ("\x1b[1;36mtitle\x1b[0m rest", [[("title", "1;36"), (" rest", "")]]),
        ("\r\x1b[K one\r\x1b[K two", [[(" two", "")]]),
    ],
)
def test_the_screen_is_what_stands_at_the_end(raw, expected):
    assert list(tool().screen(raw)) == expected


def test_every_word_has_its_place():
    line = tool().line_of([("ab  cd ✔ ■", "32")], 10)
    assert [re.search(r' x="([\d.]+)"|d="M([\d.]+)', part).group(0) for part in line] == [
        ' x="22.0"', ' x="55.6"', 'd="M80.8', ' x="98.6"',
    ]
