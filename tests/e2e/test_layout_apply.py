"""`tranche layout` assert, apply, export and defaults on simulated machines: mig-parted's work, by hand."""

import fcntl
import itertools
import json
import pathlib
import re
import signal
import subprocess
import sys

import pytest
import yaml
from node import Node
from programs import ROOT, TRANCHE, TRANCHE_SIM, wait_until

SCENARIO = ROOT / "tests" / "data" / "scenarios" / "platform" / "mig-parted-config.yaml"
BALANCED = {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}
# Calls that change hardware, in their order in a change of the layout.
CHANGING = [
    "nvmlComputeInstanceDestroy",
    "nvmlGpuInstanceDestroy",
    "nvmlDeviceSetMigMode",
    "nvmlDeviceCreateGpuInstanceWithPlacement",
    "nvmlGpuInstanceCreateComputeInstanceWithPlacement",
]


class Machine(Node):
    """A simulated machine and the file of a layout."""

    def __init__(self, machine: str):
        super().__init__(machine, kubelet=False)
        self.layouts = self.dir / "layouts.yaml"

    def layout(self, *words: object, rc: int | None = 0, env: dict | None = None) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [TRANCHE, "layout", *map(str, words)],
            env=self.env | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert rc in (None, done.returncode), f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def apply(self, name: str, *words: object, rc: int = 0, **more) -> subprocess.CompletedProcess:
        file = ["-f", self.layouts] if self.layouts.exists() else []
        return self.layout("apply", *file, "-c", name, "--state-dir", self.state, *words, rc=rc, **more)

    def has(self) -> list:
        """For each GPU its MIG devices by profile; None: MIG mode is off."""
        exported = yaml.safe_load(self.layout("export").stdout)["mig-configs"]["current"]
        of_gpu = {}
        for entry in exported:
            indices = range(len(self.gpus())) if entry["devices"] == "all" else entry["devices"]
            for index in indices:
                of_gpu[index] = entry["mig-devices"] if entry["mig-enabled"] else None
        return [of_gpu[index] for index in sorted(of_gpu)]

    def devices(self) -> dict:
        """UUID -> profile of every MIG device, as the driver tells them."""
        lines = self.smi("-L").splitlines()
        found = (re.search(r"MIG (\S+)\s+Device.*UUID: (MIG-[^)]+)", line) for line in lines)
        return {one.group(2): one.group(1) for one in found if one}


@pytest.fixture
def machine():
    open_ones = []

    def make(name: str) -> Machine:
        open_ones.append(Machine(name))
        return open_ones[-1]

    yield make
    for one in open_ones:
        one.close()


@pytest.fixture
def four(machine):
    """Four A100 with 80 GB, and the layouts of the scenario."""
    one = machine("a100-80gb-x4")
    one.layouts.write_text(yaml.safe_load(SCENARIO.read_text())["data"]["config.yaml"])
    return one


def test_a_gpu_whose_mode_is_not_told_is_not_passed_over(machine):
    box = machine("a100-40gb-x4")
    wish = [{"devices": "all", "mig-enabled": True, "mig-devices": {"3g.20gb": 2}}]
    box.layouts.write_text(json.dumps({"version": "v1", "mig-configs": {"halves": wish}}))
    box.sim("fault", "fail", "--function", "nvmlDeviceGetMigMode", "--error", "UNKNOWN", "--gpu", 1)
    told = "Unknown Error (nvmlDeviceGetMigMode: 999)"
    assert told in box.apply("halves", "--yes", rc=3).stderr
    assert told in box.layout("assert", "-f", box.layouts, "-c", "halves", rc=3).stderr
    assert told in box.layout("export", rc=3).stderr
    shown = box.layout("show", rc=None)
    assert shown.returncode != 0 and told in shown.stdout + shown.stderr
    assert "no MIG" not in shown.stdout
    box.sim("clear")
    assert box.has() == [None] * 4, "nothing was changed"


def test_every_layout_of_the_scenario(four):
    assert four.has() == [None] * 4
    for name, expected in (
        ("all-1g.10gb", [{"1g.10gb": 7}] * 4),
        ("all-balanced", [BALANCED] * 4),
        ("mixed-workload", [None] + [{"2g.20gb": 3, "1g.10gb": 1}] * 3),
    ):
        four.layout("assert", "-f", four.layouts, "-c", name, rc=1)
        four.apply(name)
        assert four.has() == expected
        assert "it is applied" in four.layout("assert", "-f", four.layouts, "-c", name).stdout
        assert "applied already" in four.apply(name).stdout
    assert not list(four.state.iterdir()), "no change is under way"


def test_settings_of_mig_parted_are_taken(four):
    env = {"MIG_PARTED_CONFIG_FILE": str(four.layouts), "MIG_PARTED_SELECTED_CONFIG": "all-balanced"}
    four.layout("assert", rc=1, env=env)
    four.layout("apply", "--state-dir", four.state, env=env)
    four.layout("assert", env=env)
    text = four.layout("export", "-l", "mine", "-o", "json").stdout
    assert json.loads(text)["mig-configs"]["mine"] == [{"devices": "all", "mig-enabled": True, "mig-devices": BALANCED}]
    saved = four.dir / "saved.json"
    saved.write_text(text)
    four.apply("all-1g.10gb")
    four.layout("apply", "-f", saved, "--state-dir", four.state)
    assert four.has() == [BALANCED] * 4, "the only layout of a file needs no name"
    piped = subprocess.run(
        [TRANCHE, "layout", "assert", "-f", "-"], env=four.env, input=text, capture_output=True, text=True, check=False
    )
    assert piped.returncode == 0, piped.stderr


def test_only_what_differs_is_touched(four):
    four.apply("all-balanced")
    before = four.devices()
    four.layouts.write_text(
        "version: v1\nmig-configs:\n  other:\n    - devices: [1]\n      mig-enabled: true\n"
        "      mig-devices: {3g.40gb: 1, 1g.10gb: 4}\n"
    )
    shown = four.apply("other").stdout
    assert re.search(r"GPU 1 .*: 3g.40gb, 2g.20gb, 1g.10gb x 2 -> 3g.40gb, 1g.10gb x 4", shown)
    assert re.search(r"stays +3g.40gb at 4", shown) and re.search(r"goes +2g.20gb at 0", shown)
    assert "GPU 0" not in shown, "nobody spoke of it"
    after = four.devices()
    gone = [before[uuid] for uuid in before.keys() - after.keys()]
    assert gone == ["2g.20gb"], "all others kept their UUID"
    assert sorted(after[uuid] for uuid in after.keys() - before.keys()) == ["1g.10gb", "1g.10gb"]


def test_a_dry_run_changes_nothing(four):
    shown = four.apply("all-balanced", "--dry-run").stdout
    assert "MIG off -> 3g.40gb, 2g.20gb, 1g.10gb x 2" in shown
    assert four.has() == [None] * 4
    assert not four.state.exists()


def test_the_mode_alone(four):
    four.apply("mixed-workload", "--mode-only")
    assert four.has() == [None, {}, {}, {}]
    four.layout("assert", "-f", four.layouts, "-c", "mixed-workload", "--mode-only")
    four.layout("assert", "-f", four.layouts, "-c", "mixed-workload", rc=1)
    four.apply("all-balanced")
    four.apply("all-1g.10gb", "--mode-only")
    assert four.has() == [BALANCED] * 4, "instances stay"


def test_processes_on_what_goes_are_named_and_on_what_stays_are_not(four):
    four.apply("all-balanced")
    held = next(uuid for uuid, profile in four.devices().items() if profile == "3g.40gb")
    holder = four.start("occupy", "--gpu", held, "--name", "trainer", executable=TRANCHE_SIM)
    wait_until(lambda: holder.output, "the device is held")
    refused = four.apply("all-1g.10gb", rc=1).stderr
    assert f"pid {holder.pid}" in refused and "nothing was changed" in refused
    assert four.has() == [BALANCED] * 4
    four.layouts.write_text(
        "version: v1\nmig-configs:\n  other:\n    - devices: all\n      mig-enabled: true\n"
        "      mig-devices: {3g.40gb: 1, 1g.10gb: 4}\n"
    )
    four.apply("other")
    assert held in four.devices(), "who holds what stays is in nobody's way"
    holder.stop()


@pytest.mark.parametrize("function", CHANGING)
def test_a_call_that_fails_leaves_the_old_layout(four, function):
    """The fault is at one GPU: those changed before it are changed back."""
    start = "all-balanced" if "Destroy" in function or "Mode" in function else "mixed-workload"
    four.apply(start)
    before = four.has()
    four.sim("fault", "fail", "--function", function, "--gpu", 2)
    target = "mixed-workload" if start == "all-balanced" else "all-balanced"
    if "Mode" in function:
        four.layouts.write_text("version: v1\nmig-configs: {off: [{devices: all, mig-enabled: false}]}\n")
        target = "off"
    done = four.apply(target, rc=1)
    four.sim("clear")
    assert "GPU 2" in done.stderr, done.stderr
    if "what they had before" in done.stderr:
        assert four.has() == before
    else:
        # The undo fails, too: the next call finishes it.
        assert "between two layouts" in done.stderr
        four.apply(target)
        four.layout("assert", "-f", four.layouts, "-c", target)


def fault_cases():
    """Every call that changes hardware, failing once or repeatedly, early and late. Some in `make
    test`."""
    for function, after, times, done in itertools.product(CHANGING, (0, 1, 4), (1, None), (False, True)):
        marks = () if after == 1 and done == (times is None) else pytest.mark.soak
        yield pytest.param(function, after, times, done, marks=marks)


@pytest.mark.parametrize(("function", "after", "times", "done"), fault_cases())
def test_no_fault_leaves_gpus_between_two_layouts(four, function, after, times, done):
    four.apply("all-balanced")
    four.sim(
        *("fault", "fail", "--function", function, "--after", after),
        *(("--times", times) if times else ()),
        *(("--done",) if done else ()),
    )
    end = four.layout(
        *("apply", "-f", four.layouts, "-c", "mixed-workload", "--state-dir", four.state),
        rc=None,
    )
    four.sim("clear")
    mixed = [None] + [{"2g.20gb": 3, "1g.10gb": 1}] * 3
    if end.returncode == 0:
        assert four.has() == mixed
    elif "what they had before" in end.stderr:
        assert four.has() == [BALANCED] * 4
    else:
        assert "between two layouts" in end.stderr, end.stderr
        assert times is None, "one failure is no reason"
    four.apply("mixed-workload")
    assert four.has() == mixed
    assert not list(four.state.iterdir())


@pytest.mark.parametrize("function", CHANGING)
def test_a_change_that_is_killed_is_finished_by_the_next_call(four, function):
    four.apply("mixed-workload" if "Mode" in function else "all-1g.10gb")
    four.sim("fault", "hang", "--function", function, "--gpu", 3)
    command = ["tranche", "layout", "apply", "-f", four.layouts, "-c", "all-balanced", "--state-dir", four.state]
    if "Mode" in function:
        off = four.dir / "off.yaml"
        off.write_text("version: v1\nmig-configs: {off: [{devices: all, mig-enabled: false}]}\n")
        command[4:7] = [off, "-c", "off"]
    running = four.start(*command[1:])
    wait_until(lambda: re.search(r"of GPU 3|on GPU 3", running.output), "it has come to the call that hangs")
    running.kill()
    four.sim("clear")
    assert list((four.state / "layout").glob("journal.json")), "the change is noted"
    assert "was cut off" in four.apply("all-balanced").stdout
    assert four.has() == [BALANCED] * 4
    assert not list(four.state.iterdir())


def test_a_change_that_is_killed_is_undone_by_a_call_for_other_gpus(four):
    four.apply("all-1g.10gb")
    four.sim("fault", "hang", "--function", CHANGING[3], "--gpu", 3)
    running = four.start("layout", "apply", "-f", four.layouts, "-c", "all-balanced", "--state-dir", four.state)
    wait_until(lambda: "of GPU 3" in running.output, "it has come to the call that hangs")
    running.kill()
    four.sim("clear")
    four.layouts.write_text(
        "version: v1\nmig-configs: {off: [{devices: [0], mig-enabled: false}]}\n"
    )
    four.apply("off")
    assert four.has() == [None] + [{"1g.10gb": 7}] * 3


def test_a_signal_leads_back(four):
    four.apply("all-1g.10gb")
    four.sim("fault", "slow", "--function", CHANGING[3], "--delay-ms", 300)
    running = four.start("layout", "apply", "-f", four.layouts, "-c", "all-balanced", "--state-dir", four.state)
    wait_until(lambda: "create 2g.20gb" in running.output, "it has come to a slow call")
    running.signal(signal.SIGTERM)
    wait_until(lambda: "what they had before" in running.log, "it leads back")
    assert running.wait() == 1
    four.sim("clear")
    assert four.has() == [{"1g.10gb": 7}] * 4


def test_two_at_once(four):
    four.sim("fault", "hang", "--function", CHANGING[2], "--gpu", 0)
    running = four.start("layout", "apply", "-f", four.layouts, "-c", "all-balanced", "--state-dir", four.state)
    wait_until(lambda: "GPU 0" in running.output, "it has begun")
    assert "another" in four.apply("all-balanced", rc=1).stderr
    four.sim("clear")
    running.wait()


@pytest.mark.parametrize(
    ("model", "layout", "expected"),
    [
        ("h100", "all-balanced", {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        ("h20", "all-3g.48gb", {"3g.48gb": 2}),
        ("h20-94gb", "all-3g.47gb", {"3g.47gb": 2}),
        ("b200", "all-balanced", {"1g.23gb": 2, "2g.45gb": 1, "3g.90gb": 1}),
        ("rtx-pro-6000", "all-balanced", {"1g.24gb": 2, "2g.48gb": 1}),
        ("h20", "all-1g.12gb", {"1g.12gb": 7}),
        ("a30", "all-balanced", {"1g.6gb": 2, "2g.12gb": 1}),
    ],
)
def test_default_layouts_need_no_file(machine, model, layout, expected):
    here = machine(model)
    here.apply(layout)
    assert here.has() == [expected] * len(here.gpus())
    here.apply("all-disabled")
    assert here.has() == [None] * len(here.gpus())
    printed = here.dir / "defaults.yaml"
    printed.write_text(here.layout("defaults").stdout)
    here.layout("assert", "-f", printed, "-c", "all-disabled")


@pytest.mark.parametrize("model", ["a30", "a100-80gb-x4", "h20", "h20-94gb", "h200", "b200", "rtx-pro-6000"])
def test_every_default_layout_can_be_applied(machine, model):
    here = machine(model)
    layouts = yaml.safe_load(here.layout("defaults").stdout)["mig-configs"]
    assert len(layouts) >= 6
    for name, entries in layouts.items():
        here.apply(name)
        assert here.has() == [entries[0].get("mig-devices")] * len(here.gpus()), name


@pytest.mark.parametrize(("model", "wished", "named"), [("h20", "47", "48"), ("h20-94gb", "48", "47")])
def test_names_of_another_driver(machine, model, wished, named):
    here = machine(model)
    here.layouts.write_text(
        "version: v1\nmig-configs:\n  two:\n    - devices: all\n      mig-enabled: true\n"
        f"      mig-devices: {{3g.{wished}gb: 2}}\n"
    )
    here.apply("two")
    assert here.has() == [{f"3g.{named}gb": 2}] * len(here.gpus())


def test_who_uses_a_gpu_whose_mode_changes_is_named(machine):
    here = machine("h100")
    holder = here.start("occupy", "--gpu", 0, executable=TRANCHE_SIM)
    wait_until(lambda: holder.output, "the GPU is held")
    assert f"pid {holder.pid}" in here.apply("all-enabled", rc=1).stderr
    holder.stop()
    here.apply("all-enabled")


def test_ampere_keeps_its_mode_while_a_monitor_has_nvml_open(four):
    """The monitor computes nothing, so only the driver knows of it."""
    code = "import ctypes, signal; ctypes.CDLL('libnvidia-ml.so.1').nvmlInit_v2(); print('open', flush=True); signal.pause()"
    monitor = four.start("-c", code, argv0="monitor", executable=pathlib.Path(sys.executable))
    wait_until(lambda: monitor.output, "NVML is open")
    four.layouts.write_text(
        "version: v1\nmig-configs: {first: [{devices: [0], mig-enabled: true, mig-devices: {}}]}\n"
    )
    refused = four.apply("first", rc=1).stderr
    assert "processes use the GPU" in refused and "what they had before" in refused
    pending = four.smi("--query-gpu=mig.mode.pending", "--format=csv,noheader")
    assert "Enabled" not in pending, "the mode does not come by surprise at the next reset"
    monitor.stop()
    four.apply("first")
    assert four.has() == [{}, None, None, None]


def test_where_nothing_resets_the_gpu(machine):
    here = machine("a100-passthrough")
    done = here.apply("all-enabled", rc=1)
    assert "reboot this machine" in done.stderr and "what they had before" in done.stderr
    assert here.has() == [None] * len(here.gpus())
    pending = here.smi("--query-gpu=mig.mode.pending", "--format=csv,noheader").split("\n")[0]
    assert pending == "Disabled", "nothing waits for a reboot"


def modes(here) -> list:
    """For each GPU the mode in force and the one after a reboot."""
    query = here.smi("--query-gpu=mig.mode.current,mig.mode.pending", "--format=csv,noheader")
    return [line.split(", ") for line in query.splitlines()]


def test_a_mode_that_waits_for_a_reboot_is_not_taken_back(machine):
    """tests/data/reports/07-vm-mode-taken-back."""
    here = machine("a100-passthrough")
    here.layouts.write_text((ROOT / "tests/data/reports/07-vm-mode-taken-back/layouts.yaml").read_text())
    dry = here.apply("all-1g", "--dry-run", rc=1).stderr
    assert "nothing can reset GPU 0, 1 on this machine" in dry and "nvidia-smi -i 0,1 -mig 1" in dry
    here.smi("-mig", "1")
    assert modes(here) == [["Disabled", "Enabled"]] * 2
    waits = "is already waiting for a reboot: reboot this machine, then apply"
    dry = here.apply("all-1g", "--dry-run", rc=1).stderr
    assert "nothing can reset GPU 0, 1 on this machine" in dry and waits in dry
    done = here.apply("all-1g", "--yes", rc=1)
    assert waits in done.stderr and "what they had before" in done.stderr
    assert modes(here) == [["Disabled", "Enabled"]] * 2
    differs = here.layout("assert", "-f", here.layouts, "-c", "all-1g", rc=1).stdout
    assert "GPU 0 (NVIDIA A100-SXM4-80GB) has MIG off (MIG mode on waits for a reset)" in differs
    here.sim("reset", "--reboot")
    assert modes(here) == [["Enabled", "Enabled"]] * 2
    here.apply("all-1g", "--dry-run")
    here.apply("all-1g", "--yes")
    assert here.has() == [{"1g.10gb": 7}] * 2
    here.layout("assert", "-f", here.layouts, "-c", "all-1g")


def test_a_mode_that_waits_is_no_layout_in_force(machine):
    here = machine("a100-passthrough")
    here.layouts.write_text("version: v1\nmig-configs: {off: [{devices: all, mig-enabled: false}]}\n")
    here.layout("assert", "-f", here.layouts, "-c", "off")
    here.smi("-i", "1", "-mig", "1")
    differs = here.layout("assert", "-f", here.layouts, "-c", "off", rc=1).stdout
    assert "GPU 1" in differs and "GPU 0" not in differs and "MIG mode on waits for a reset" in differs
    here.layout("assert", "-m", "-f", here.layouts, "-c", "off", rc=1)
    shown = here.apply("off", "--dry-run").stdout
    assert "MIG mode on, which waits for a reset, is taken back" in shown
    here.apply("off")
    assert modes(here) == [["Disabled", "Disabled"]] * 2


def test_a_mode_off_that_waits_is_taken_back_where_the_instances_are_right(machine):
    here = machine("a100-passthrough")
    here.layouts.write_text((ROOT / "tests/data/reports/07-vm-mode-taken-back/layouts.yaml").read_text())
    here.smi("-mig", "1")
    here.sim("reset", "--reboot")
    here.apply("all-1g")
    before = here.devices()
    here.smi("-i", "1", "-mig", "0")
    assert modes(here) == [["Enabled", "Enabled"], ["Enabled", "Disabled"]]
    assert "MIG mode off of GPU 1 waits for a reset" in here.layout("export").stderr
    here.layout("assert", "-f", here.layouts, "-c", "all-1g", rc=1)
    for words in (["--mode-only"], []):
        shown = here.apply("all-1g", "--dry-run", *words).stdout
        assert "MIG mode off, which waits for a reset, is taken back" in shown, "it would take the instances"
    here.apply("all-1g")
    here.layout("assert", "-f", here.layouts, "-c", "all-1g")
    assert here.layout("export").stderr == "" and here.devices() == before
    assert modes(here) == [["Enabled", "Enabled"]] * 2


@pytest.mark.parametrize("model", ["t4", "l20"])
def test_gpus_without_mig_are_refused_with_what_works_instead(machine, model):
    here = machine(model)
    here.layouts.write_text(yaml.safe_load(SCENARIO.read_text())["data"]["config.yaml"])
    for words in (["-f", here.layouts, "-c", "all-balanced"], ["-c", "all-balanced"]):
        for word in ("assert", "apply"):
            state = ["--state-dir", here.state] if word == "apply" else []
            refused = here.layout(word, *words, *state, rc=1).stderr
            assert "has no MIG" in refused and "time-slicing" in refused


def test_where_an_agent_manages_the_layouts_it_is_left_to_it(four):
    (four.state / "mig").mkdir(parents=True)
    with open(four.state / "agent.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = four.apply("all-balanced", rc=1).stderr
        assert "nvidia.com/mig.config" in refused and "--force" in refused
        assert four.has() == [None] * 4
        four.apply("all-balanced", "--force")
    assert four.has() == [BALANCED] * 4
    four.apply("all-1g.10gb")


def test_the_example_of_the_page(four):
    page = (ROOT / "docs" / "mig.md").read_text()
    (example,) = re.findall(r"```yaml\n(version: v1\nmig-configs:.*?)```", page, re.DOTALL)
    four.layouts.write_text(example)
    four.apply("mixed-workload")
    assert four.has() == [None] + [{"2g.20gb": 3, "1g.10gb": 1}] * 3


def test_exit_codes(four):
    assert "line" not in four.layout("assert", "-f", four.layouts, "-c", "all-balanced", "-a").stdout
    assert "did you mean" in four.layout("assert", "-f", four.layouts, "-c", "all-balance", rc=2).stderr
    assert "choose one" in four.layout("assert", "-f", four.layouts, rc=2).stderr
    four.layout("assert", "-f", four.dir / "none.yaml", "-c", "x", rc=2)
    four.layouts.write_text("version: v1\nmig-configs: {a: [{devices: 7, mig-enabled: maybe}]}\nkind: x\n")
    refused = four.layout("assert", "-f", four.layouts, rc=2).stderr
    assert "layouts.yaml:2: \"devices\"" in refused and "layouts.yaml:3: unknown key" in refused
    four.sim("fault", "no-driver")
    assert four.layout("export", rc=3).stderr
    assert four.layout("apply", "-c", "all-disabled", "--state-dir", four.state, rc=3).stderr


@pytest.mark.parametrize("text", ["", "# version: v1\n# mig-configs: {}\n", "---\n", "null\n", "{}\n"])
def test_a_file_that_says_nothing_is_refused(four, text):
    four.layouts.write_text(text)
    for verb in ("assert", "apply"):
        refused = four.layout(verb, "-f", four.layouts, "-c", "a", rc=2)
        assert 'layouts.yaml:1: the file is empty; begin it with "version: v1"' in refused.stderr


def test_what_is_for_no_gpu_is_told(four):
    four.layouts.write_text(
        "version: v1\nmig-configs:\n  a:\n  - {devices: all, mig-enabled: false}\n"
        '  - {device-filter: "0x10DE20B2", devices: [], mig-enabled: true, mig-devices: {}}\n'
    )
    told = four.layout("assert", "-f", four.layouts, "-c", "a").stderr
    assert 'layouts.yaml:5: "device-filter" "0x10DE20B2" matches no GPU' in told
    assert 'layouts.yaml:5: "devices" is an empty list, so the entry is for no GPU' in told
