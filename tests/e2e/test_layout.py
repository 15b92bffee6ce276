"""`tranche layout`: what MIG can cut GPUs into, without hardware and on a simulated machine."""

import contextlib
import json
import os
import subprocess

import pytest
import yaml
from programs import LIBRARY, ROOT, TRANCHE, clean_environment
from test_schemas import check

SCENARIO = ROOT / "tests" / "data" / "scenarios" / "platform" / "mig-parted-config.yaml"


def layout(*arguments: str, env: dict | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, "layout", *arguments],
        env=env or clean_environment(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def document(*arguments: str, code: int = 0, env: dict | None = None) -> dict:
    done = layout(*arguments, "-o", "json", env=env)
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    as_yaml = layout(*arguments, "-o", "yaml", env=env)
    assert yaml.safe_load(as_yaml.stdout) == found
    if arguments != ("list",):  # of one model, too: all of them would take half a minute
        check(found["version"].replace("/", "-"), found)
    return found


def validate(*wish: str, model: str = "a100-80gb", code: int = 0) -> dict:
    return document("validate", "--model", model, *wish, code=code)


@pytest.fixture
def simulated(tmp_path):
    """simulated("t4") is the environment of a fresh simulated machine."""

    def environment(name: str) -> dict:
        return clean_environment(
            TRANCHE_SIM=ROOT / "sim" / "machines" / f"{name}.yaml",
            TRANCHE_SIM_STATE=tmp_path / name,
            LD_LIBRARY_PATH=LIBRARY.parent,
        )

    return environment


# --- the platform scenario --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "compute", "memory"),
    [
        (["1g.10gb=7"], 0, 1),
        (["2g.20gb=3", "1g.10gb=1"], 0, 1),
        (["3g.40gb=2"], 1, 0),
        (["4g.40gb=1", "3g.40gb=1"], 0, 0),
        (["7g.80gb=1"], 0, 0),
    ],
)
def test_layouts_of_the_scenario_are_accepted(wish, compute, memory):
    found = validate(*wish)
    assert found["valid"] is True
    assert (found["strandedComputeSlices"], found["strandedMemorySlices"]) == (compute, memory)


def test_what_is_stranded_is_said_and_drawn():
    done = layout("validate", "--model", "a100-80gb", "3g.40gb=2")
    assert done.returncode == 0
    assert "stranded: 1 compute slice, which no instance can use" in done.stdout
    assert "│░░░░░░░│" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_layout_of_the_issue_has_its_places():
    found = validate("3g.40gb=1", "2g.20gb=1", "1g.10gb=2")
    places = [(one["profile"], one["start"], one["size"]) for one in found["instances"]]
    assert places == [("2g.20gb", 0, 2), ("1g.10gb", 2, 1), ("1g.10gb", 3, 1), ("3g.40gb", 4, 4)]


def test_an_invalid_layout_is_refused_with_the_nearest():
    found = validate("4g.40gb=1", "2g.20gb=1", "1g.10gb=2", code=1)
    assert found["why"] == "they take 8 compute slices of 7"
    assert found["nearest"][0] == {"4g.40gb": 1, "2g.20gb": 1, "1g.10gb": 1}
    for near in found["nearest"]:
        assert validate(*(f"{name}={count}" for name, count in near.items()))["valid"]


@pytest.mark.parametrize("name", ["all-1g.10gb", "all-balanced", "mixed-workload"])
def test_named_layouts_of_the_scenario_are_valid(name):
    parted = yaml.safe_load(yaml.safe_load(SCENARIO.read_text())["data"]["config.yaml"])
    for entry in parted["mig-configs"][name]:
        if entry["mig-enabled"]:
            wish = (f"{profile}={count}" for profile, count in entry["mig-devices"].items())
            assert validate(*wish)["valid"]


@pytest.mark.parametrize("profile", ["1g.12gb=7", "2g.24gb=3", "3g.47gb=2", "4g.47gb=1", "7g.94gb=1"])
def test_profiles_of_h20_are_shown_as_the_driver_spells_them(profile):
    found = validate(profile, model="h20-96gb")
    assert {one["profile"] for one in found["instances"]} <= {
        "1g.12gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"
    }


@pytest.mark.parametrize(
    "model", ["t4", "Tesla T4", "Tesla-T4", "NVIDIA L20", "l20", "v100", "V100-SXM2-16GB"]
)
def test_a_model_without_mig_is_refused_with_what_works(model):
    done = layout("validate", "--model", model, "1g.10gb=1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "has no MIG; share it by time-slicing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["validate", "--model", "a100", "1g.10gb"], "did you mean a100-40gb or a100-80gb?"),
        (["validate", "--model", "a100-80gb", "1g.5gb"], 'did you mean "1g.10gb"?'),
        (["validate", "--model", "a100-80gb"], "say which instances"),
        (["pack", "--model", "a100-80gb", "1g.10gb=some"], "is no profile with a number"),
        (["pack", "--model", "a100-80gb", "1g.10gb=0"], "nothing is to be packed"),
        (["list", "more"], "unexpected argument 'more'"),
        (["shwo"], 'did you mean "show"?'),
        ([], "say what to do"),
    ],
)
def test_a_wrong_command_line_says_what_is_right(arguments, says):
    done = layout(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_without_a_model_it_is_the_machine_that_counts(simulated):
    env = simulated("a100-40gb")
    found = document("validate", "3g.20gb=2", env=env)
    assert (found["model"], found["valid"]) == ("NVIDIA A100-SXM4-40GB", True)
    packed = document("pack", "3g.20gb=3", env=env)
    assert (packed["model"], packed["gpus"]) == ("NVIDIA A100-SXM4-40GB", 2)
    none = layout("validate", "3g.20gb=2", env=simulated("t4"))
    assert none.returncode == 1
    assert "no GPU of this machine has MIG; share it by time-slicing" in none.stderr
    away = layout("validate", "3g.20gb=2", env=clean_environment(LD_LIBRARY_PATH=""))
    assert away.returncode == 3
    assert "name a model, such as --model a100-80gb, or install the NVIDIA driver" in away.stderr


# --- list, pack -------------------------------------------------------------------------------


def test_models_and_their_profiles_are_listed():
    models = {one["key"]: one for one in document("list")["models"]}
    assert len(models) == 14
    assert models["a30-24gb"]["modeNeedsReset"] is True
    assert "modeNeedsReset" not in models["rtx-pro-6000-96gb"]
    one = document("list", "--model", "A30")
    assert [model["key"] for model in one["models"]] == ["a30-24gb"]
    assert {"4g.24gb": 1} in [full["devices"] for full in one["models"][0]["fullLayouts"]]
    table = layout("list", "--model", "a30-24gb").stdout
    assert "2g.12gb, 1g.6gb x 2" in table


def test_packing_is_a_file_of_mig_parted():
    wish = ["3g.40gb=4", "2g.20gb=4", "1g.10gb=8"]
    done = layout("pack", "--model", "a100-80gb", *wish, "-o", "parted")
    assert done.returncode == 0
    assert yaml.safe_load(done.stdout) == {
        "version": "v1",
        "mig-configs": {
            "packed": [
                {
                    "devices": [0, 1, 2, 3],
                    "mig-enabled": True,
                    "mig-devices": {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2},
                }
            ]
        },
    }
    found = document("pack", "--model", "a100-80gb", *wish)
    assert (found["gpus"], found["fewest"]) == (4, True)
    few = layout("pack", "--model", "a100-80gb", "--gpus", "3", *wish)
    assert few.returncode == 1
    assert "3 GPUs do not hold them; 4 would" in few.stderr
    few = layout("pack", "--model", "a100-80gb", "--gpus", "1", *wish)
    assert "1 GPU does not hold them; 4 would" in few.stderr


def test_a_folder_is_no_file_for_the_picture(tmp_path):
    done = layout("validate", "--model", "a100-80gb", "1g.10gb=1", "--svg", tmp_path)
    assert done.returncode == 2 and "is a folder; name a file" in done.stderr


def test_the_picture_is_written_as_svg(tmp_path):
    file = tmp_path / "layout.svg"
    done = layout("validate", "--model", "a100-80gb", "3g.40gb=2", "--svg", str(file))
    assert done.returncode == 0
    assert layout("validate", "--model", "a100-80gb", "3g.40gb=2", "-o", "svg").stdout == file.read_text()
    gone = layout("validate", "--model", "a100-80gb", "3g.40gb=2", "--svg", str(tmp_path / "a" / "b"))
    assert gone.returncode == 1
    assert "No such file or directory" in gone.stderr


# --- show -------------------------------------------------------------------------------------


def test_show_draws_what_the_gpus_of_this_machine_have(simulated):
    env = simulated("a100-40gb-mig")
    [gpu] = document("show", env=env)["gpus"]
    places = [(one["profile"], one["start"], one["size"]) for one in gpu["instances"]]
    assert places == [("1g.5gb", 0, 1), ("1g.5gb", 1, 1), ("2g.10gb", 2, 2), ("3g.20gb", 4, 4)]
    picture = layout("show", env=env)
    assert picture.returncode == 0
    assert "│    2g.10gb    │" in picture.stdout


def test_show_of_gpus_without_mig_and_with_mig_off(simulated):
    assert layout("show", env=simulated("t4")).stdout.endswith(": no MIG\n")
    off = layout("show", env=simulated("a100-40gb"))
    assert off.returncode == 0
    assert "MIG off" in off.stdout


def test_show_without_a_driver_cannot_reach_it():
    done = layout("show", env=clean_environment(LD_LIBRARY_PATH=""))
    assert (done.returncode, done.stdout) == (3, "")
    assert "install the NVIDIA driver on this node" in done.stderr


@pytest.mark.parametrize("no_colour", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_has_colours_unless_it_wants_none(no_colour):
    parent, child = os.openpty()
    seen = ""
    env = clean_environment(TERM="xterm-256color") | no_colour
    env.pop("NO_COLOR", None) if not no_colour else None
    subprocess.run(
        [TRANCHE, "layout", "validate", "--model", "a30-24gb", "1g.6gb=1"],
        env=env, stdout=child, check=True,
    )
    os.close(child)
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while part := os.read(parent, 65536):
            seen += part.decode()
    os.close(parent)
    assert ("\x1b[" in seen) == (not no_colour)
