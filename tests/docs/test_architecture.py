"""docs/architecture.md beside the tree: every room of src/ has a row and every row a room, and what
a row says a room may include is what tools/layers.py lets it include. Rooms inside rooms too."""

import fnmatch
import importlib.util
import pathlib
import re

import markdown
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def load_layers():
    spec = importlib.util.spec_from_file_location("layers", ROOT / "tools" / "layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAYERS = load_layers()
INNER = LAYERS.INNER


def rooms_of_tree():
    """Folders of wings that hold sources, themselves or below."""
    sources = (p for p in SOURCE.rglob("*") if p.suffix in (".h", ".cpp"))
    return {p.relative_to(SOURCE).parts[1] for p in sources}


def inner_rooms_of_tree():
    """Those with a CMake target of their own: tranche_room(agent/config ...)."""
    made = re.compile(r"^\s*tranche_room\(\s*(\w+/\w+)", re.M)
    lists = SOURCE.rglob("CMakeLists.txt")
    return {room for path in lists for room in made.findall(path.read_text())}


def tables():
    """Every table below "Rooms": the cells of its head, and its rows."""
    for block in re.findall(r"(?:^\|.*\n)+", markdown.section(PAGE, "Rooms") + "\n", re.M):
        head = [cell.strip() for cell in block.splitlines()[0].strip("|").split("|")]
        yield head, markdown.rows(block)


def rows_with(head):
    found = [row for first, table in tables() if first == head for row in table]
    assert found, f"docs/architecture.md has no table {' | '.join(head)}"
    return found


def there(rooms):
    return {room for room in rooms if (SOURCE / LAYERS.ROOMS.folder(room)).is_dir()}


def names_in(cell):
    """What a cell names: rooms in backticks as they are, groups of rooms opened up."""
    if cell in ("nothing of ours", "nothing"):
        return set()
    names = set()
    for item in re.split(r",\s*", cell):
        if quoted := re.fullmatch(r"`([^`]+)`", item):
            names.add(quoted.group(1))
        else:
            assert re.fullmatch(r"[a-z]+", item), f"neither `room` nor group: {item}"
            assert item in LAYERS.ROOMS.groups, f"src/rooms.list has no group {item}"
            names |= there(LAYERS.ROOMS.groups[item])
    return names


ROOMS = {row[0].strip("`"): row for row in rows_with(["room", "holds", "may include"])}


def rooms_of_row(cell):
    """The inner rooms of a row: one, or with "mps/protocol*" as many as the tree has."""
    pattern = cell.strip("`")
    return fnmatch.filter(sorted(inner_rooms_of_tree()), pattern) or [pattern]


INNER_ROOMS = {
    room: row
    for head, table in tables()
    if head == ["room inside", "holds", "and may include"]
    for row in table
    for room in rooms_of_row(row[0])
}
GROUPS = {row[0]: row for row in rows_with(["group", "rooms"])}


def test_every_room_has_a_row_and_every_row_a_room():
    assert sorted(ROOMS) == sorted(rooms_of_tree())


def test_wings_are_those_of_the_list():
    told = {row[0]: names_in(row[2]) for row in rows_with(["wing", "is about", "rooms"])}
    wings = {}
    for room in there(LAYERS.ROOMS.wings):
        wings.setdefault(LAYERS.ROOMS.wings[room], set()).add(room)
    assert told == wings
    assert set(told) == {p.name for p in SOURCE.iterdir() if p.is_dir()}


def test_the_picture_shows_every_room():
    picture = re.search(r"```mermaid\n(.*?)```", markdown.section(PAGE, "Rooms"), re.S).group(1)
    shown = " ".join(re.findall(r'"([^"]*)"', picture))
    assert rooms_of_tree() <= set(re.findall(r"\w+", shown))


def test_every_inner_room_has_a_row_and_every_row_an_inner_room():
    assert sorted(INNER_ROOMS) == sorted(inner_rooms_of_tree())


def test_every_row_says_what_the_room_holds():
    assert not [room for room, row in {**ROOMS, **INNER_ROOMS}.items() if len(row[1]) < 5]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_may_include_what_the_rules_say(room):
    told = names_in(ROOMS[room][2])
    files = {name for name in told if "/" in name}
    assert there(told - files) - {room} == there(LAYERS.ALLOWED[room]) - {room}
    assert files == {f for f in LAYERS.ALLOWED_FILES.get(room, ()) if f.split("/")[0] not in told}


@pytest.mark.parametrize("room", sorted(INNER_ROOMS))
def test_an_inner_room_may_include_what_the_rules_say(room):
    outer = room.split("/")[0]
    named = names_in(INNER_ROOMS[room][2])
    told = {name if name == outer else f"{outer}/{name}" for name in named}
    assert told == set(INNER[room])


def test_every_room_of_the_simulated_machine_is_in_its_page():
    page = (ROOT / "sim" / "README.md").read_text()
    named = {n for row in markdown.rows(markdown.section(page, "Rooms")) for n in
             re.findall(r"`(\w+)/`", row[0])}
    sources = (p for p in (ROOT / "sim").rglob("*") if p.suffix in (".h", ".cpp"))
    assert sorted(named) == sorted({p.relative_to(ROOT).parts[1] for p in sources})
    assert named == set(LAYERS.SIM)


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_a_group_is_the_one_of_the_rules(group):
    assert names_in(GROUPS[group][1]) == there(LAYERS.ROOMS.groups[group])


def test_classes_of_the_glossary_are_there():
    page = (ROOT / "docs" / "glossary.md").read_text()
    table = markdown.section(page, "The program").split("| class | is |")[1]
    names = {name.split("::")[-1] for name in re.findall(r"^\|(.*?)\|", table, re.M) for name in
             re.findall(r"`([\w:]+)`", name)}
    sources = "\n".join(p.read_text() for p in SOURCE.rglob("*.h"))
    missing = [n for n in sorted(names) if not re.search(rf"\b(class|struct) {n}\b", sources)]
    assert names and not missing, missing
