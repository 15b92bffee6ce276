"""tools/layers.py finds violations of the layer rules, on small made-up trees."""

import importlib.util
import pathlib

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "layers.py"


WINGS = {"base": "common", "gpu": "hardware"}


@pytest.fixture
def layers(monkeypatch):
    spec = importlib.util.spec_from_file_location("layers", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    monkeypatch.setattr(tool, "KNOWN_CIRCLES", ())
    return tool


@pytest.fixture
def violations(layers, tmp_path):
    """The violations in {file: headers it includes}, with empty files."""

    def check(tree, others=()):
        for name in others:
            (tmp_path / "hardware" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "hardware" / name).touch()
        for name, headers in tree.items():
            path = tmp_path / WINGS.get(name.split("/")[0], "hardware") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f'#include "{header}"\n' for header in headers))
        count, found = layers.violations_in(tmp_path)
        assert count == len(tree)
        return found

    return check


def test_what_follows_the_rules_is_clean(violations):
    assert not violations(
        {
            "base/fs.h": ["string"],
            "base/fs.cpp": ["base/fs.h"],
            "gpu/machine.h": ["base/fs.h"],
            "gpu/machine.cpp": ["gpu/machine.h", "base/fs.h"],
        }
    )


def test_include_of_a_room_above(violations):
    assert violations({"base/fs.cpp": ["gpu/machine.h"], "gpu/machine.h": []}) == [
        "src/common/base/fs.cpp: base/ may not include gpu/machine.h"
    ]


def test_room_without_a_rule(violations):
    (line,) = violations({"attic/box.h": []})
    assert line.startswith("src/hardware/attic/box.h: no room 'attic'")


def test_third_party_header_outside_of_its_folder(violations):
    (line,) = violations({"gpu/machine.cpp": ["yaml-cpp/yaml.h"]})
    assert line == "src/hardware/gpu/machine.cpp: yaml-cpp/yaml.h belongs to base/"


def test_circle_of_two_files(violations):
    # Only a source and a header together close it.
    assert violations(
        {
            "gpu/a.h": ["gpu/b.h"],
            "gpu/b.h": [],
            "gpu/b.cpp": ["gpu/b.h", "gpu/a.h"],
        }
    ) == ["files need each other: gpu/a -> gpu/b (gpu/a.h) -> gpu/a (gpu/b.cpp)"]


def test_longer_circle_is_told_once_with_its_way(violations):
    assert violations(
        {
            "gpu/a.h": ["gpu/b.h"],
            "gpu/b.h": ["gpu/c.h"],
            "gpu/c.h": ["gpu/a.h"],
            "gpu/user.cpp": ["gpu/a.h"],
        }
    ) == [
        "files need each other: "
        "gpu/a -> gpu/b (gpu/a.h) -> gpu/c (gpu/b.h) -> gpu/a (gpu/c.h)"
    ]


def test_table_is_no_part_of_the_source_of_the_same_name(violations):
    tree = {"gpu/a.cpp": ["gpu/b.def"], "gpu/b.cpp": ["gpu/a.h"], "gpu/a.h": []}
    assert not violations(tree, others=["gpu/b.def"])


def test_test_closes_no_circle(violations):
    assert not violations({"gpu/a.h": [], "gpu/b.h": ["gpu/a.h"], "gpu/a_test.cpp": ["gpu/b.h"]})


def test_circle_of_inner_rooms(layers, violations, monkeypatch):
    # The rules allow both ways by mistake, and no file is in a cycle.
    monkeypatch.setitem(layers.INNER, "gpu/one", {"gpu/two"})
    monkeypatch.setitem(layers.INNER, "gpu/two", {"gpu/one"})
    assert violations(
        {
            "gpu/one/a.h": ["gpu/two/a.h"],
            "gpu/one/b.h": [],
            "gpu/two/a.h": [],
            "gpu/two/b.h": ["gpu/one/b.h"],
        }
    ) == ["folders need each other: gpu/one -> gpu/two (gpu/one/a.h) -> gpu/one (gpu/two/b.h)"]


def test_inner_room_may_not_include_its_neighbour_or_the_outer_room(layers, violations, monkeypatch):
    monkeypatch.setitem(layers.INNER, "gpu/one", set())
    monkeypatch.setitem(layers.INNER, "gpu/two", set())
    assert violations(
        {
            "gpu/outer.h": [],
            "gpu/one/a.h": ["gpu/two/a.h", "gpu/outer.h"],
            "gpu/two/a.h": [],
        }
    ) == [
        "src/hardware/gpu/one/a.h: gpu/one/ may not include gpu/two/a.h",
        "src/hardware/gpu/one/a.h: gpu/one/ may not include gpu/outer.h",
    ]


def test_inner_room_above_the_outer_one(layers, violations, monkeypatch):
    monkeypatch.setitem(layers.INNER, "gpu/top", {"gpu"})
    assert not violations({"gpu/value.h": [], "gpu/top/a.h": ["gpu/value.h"]})
    tree = {"gpu/value.h": ["gpu/top/b.h"], "gpu/top/a.h": ["gpu/value.h"], "gpu/top/b.h": []}
    (line,) = violations(tree)
    assert line.startswith("folders need each other: gpu -> gpu/top")


def test_known_circle_passes_and_its_line_goes_with_it(layers, violations, monkeypatch):
    monkeypatch.setattr(layers, "KNOWN_CIRCLES", ({"gpu/a", "gpu/b", "gpu/c"},))
    (line,) = violations({"gpu/a.h": ["gpu/b.h"], "gpu/b.h": ["gpu/a.h"], "gpu/c.h": ["gpu/a.h"]})
    assert line.startswith("gpu/c is in no circle any more")


def test_rooms_of_the_simulated_machine(layers, tmp_path):
    tree = {
        "src/common/base/fs.h": [],
        "src/hardware/gpu/machine.h": [],
        "sim/machine/names.h": ["base/fs.h", "fmt/format.h"],
        "sim/state/state.h": ["sim/machine/names.h", "sim/gpu/uses.h"],
        "sim/gpu/uses.h": ["sim/state/state.h", "gpu/machine.h"],
        "sim/cuda/mps.h": ["sim/gpu/uses.h", "sim/mps/wire.h", "sim/mps/log.h"],
        "sim/mps/log.h": [],
        "sim/mps/wire.h": [],
        "sim/attic.h": [],
    }
    for name, headers in tree.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("".join(f'#include "{header}"\n' for header in headers))
    assert layers.sim_violations_in(tmp_path) == (
        7,
        [
            "sim/attic.h: stands in no room of sim/ (tools/layers.py)",
            "sim/cuda/mps.h: sim/cuda/ may not include sim/mps/log.h",
            "sim/gpu/uses.h: sim/gpu/ may not include gpu/machine.h",
            "sim/state/state.h: sim/state/ may not include sim/gpu/uses.h",
            "files need each other: sim/gpu/uses -> sim/state/state (sim/gpu/uses.h)"
            " -> sim/gpu/uses (sim/state/state.h)",
            "folders need each other: sim/gpu -> sim/state (sim/gpu/uses.h)"
            " -> sim/gpu (sim/state/state.h)",
        ],
    )
