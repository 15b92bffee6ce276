"""docs/architecture.md compared with the tree: every room of src/ stands in the page below its wing, with
what it holds, and has a line in src/rooms.list, which says what it may include. Rooms inside rooms
too."""

import fnmatch
import importlib.util
import pathlib
import re

import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def load_layers():
    spec = importlib.util.spec_from_file_location("layers", ROOT / "tools" / "layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAYERS = load_layers()


def rooms_of_tree():
    """Folders of wings that hold sources, themselves or below."""
    sources = (p for p in SOURCE.rglob("*") if p.suffix in (".h", ".cpp"))
    return {p.relative_to(SOURCE).parts[1] for p in sources}


def inner_rooms_of_tree():
    """Those with a CMake target of their own: tranche_room(agent/config ...)."""
    made = re.compile(r"^\s*tranche_room\(\s*(\w+/\w+)", re.M)
    lists = SOURCE.rglob("CMakeLists.txt")
    return {room for path in lists for room in made.findall(path.read_text())}


def there(rooms):
    return {room for room in rooms if (SOURCE / LAYERS.ROOMS.folder(room)).is_dir()}


def listed():
    """What the lists below "Rooms" say: each wing's rooms, and what each room holds. A room inside
    another stands below it: `agent`, then `loop`, is agent/loop."""
    wings, holds, wing, outer = {}, {}, None, None
    text = re.sub(r"\n +(?![ -])", " ", markdown.FENCE.sub("", markdown.section(PAGE, "Rooms")))
    for line in text.splitlines():
        if head := re.match(r"\*\*(\w+)\*\*: ", line):
            wing = head.group(1)
        elif item := re.match(r"( *)- `([\w*]+)`: (.*)", line):
            inner, name, what = item.groups()
            outer = outer if inner else name
            holds[f"{outer}/{name}" if inner else name] = what
            if not inner:
                wings.setdefault(wing, set()).add(name)
    return wings, holds


WINGS, HOLDS = listed()


def inner_rooms_of_page():
    """With "protocol*" below mps as many as the tree has."""
    found = [room for room in HOLDS if "/" in room]
    return [one for room in found
            for one in fnmatch.filter(sorted(inner_rooms_of_tree()), room) or [room]]


def test_every_room_is_in_the_page_and_is_there():
    assert sorted(room for room in HOLDS if "/" not in room) == sorted(rooms_of_tree())


def test_every_inner_room_is_in_the_page_and_is_there():
    assert sorted(inner_rooms_of_page()) == sorted(inner_rooms_of_tree())


def test_every_room_of_the_tree_has_its_line_in_the_list():
    assert there(LAYERS.ALLOWED) == rooms_of_tree()
    assert set(LAYERS.INNER) == inner_rooms_of_tree()


def test_wings_are_those_of_the_list():
    wings = {}
    for room in there(LAYERS.ROOMS.wings):
        wings.setdefault(LAYERS.ROOMS.wings[room], set()).add(room)
    assert WINGS == wings
    assert set(WINGS) == {p.name for p in SOURCE.iterdir() if p.is_dir()}


def test_the_picture_shows_every_room():
    picture = re.search(r"```mermaid\n(.*?)```", markdown.section(PAGE, "Rooms"), re.S).group(1)
    shown = " ".join(re.findall(r'"([^"]*)"', picture))
    assert rooms_of_tree() <= set(re.findall(r"\w+", shown))


def test_the_page_says_what_each_room_holds():
    assert not [room for room, what in HOLDS.items() if len(what) < 5]


def test_every_room_of_the_simulated_machine_is_in_its_page():
    page = (ROOT / "sim" / "README.md").read_text()
    items = re.findall(r"^- (.*?): ", markdown.section(page, "Rooms"), re.M)
    named = {name for item in items for name in re.findall(r"`(\w+)/`", item)}
    sources = (p for p in (ROOT / "sim").rglob("*") if p.suffix in (".h", ".cpp"))
    assert sorted(named) == sorted({p.relative_to(ROOT).parts[1] for p in sources})
    assert named == set(LAYERS.SIM)


def test_classes_of_the_glossary_are_there():
    page = (ROOT / "docs" / "glossary.md").read_text()
    classes = markdown.section(page, "The program").split("Classes that a reader")[1]
    names = {name for item in re.findall(r"^- (.*?): ", classes, re.M) for name in
             re.findall(r"`(\w+)`", item)}
    sources = "\n".join(p.read_text() for p in SOURCE.rglob("*.h"))
    missing = [n for n in sorted(names) if not re.search(rf"\b(class|struct) {n}\b", sources)]
    assert names and not missing, missing
