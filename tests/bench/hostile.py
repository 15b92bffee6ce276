#!/usr/bin/env python3
"""The GPU time of programs that work against their share, next to an honest neighbour: the limiter,
a real arbiter with NVML, and a simulated GPU in wall-clock time. As root.

    build/venv/bin/python tests/bench/hostile.py [spent silent flood ...]
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "limits"))
import arbiter as ours  # noqa: E402
from container import Container, build, finish, wait_until  # noqa: E402

SHARE, NEIGHBOUR = 100, 500  # permille
SECONDS = {"neighbour": 10, "spent": 30, "silent": 60, "flood": 60, "waits": 10, "hints": 10, "rare": 10}
URGENT = ["waits", "hints", "rare"]  # latency-critical, without a cap, beside a best-effort neighbour


def compute(uuid: str, permille: int | None) -> list:
    cap = {} if permille is None else {"permille": permille}
    return [{"uuid": uuid, "weight": 1, "memoryBytes": 4 << 30, **cap}]


def findings(state: pathlib.Path) -> int:
    import json

    return len(json.loads(state.read_text())["status"]["findings"]) if state.exists() else 0


def measure(what: str, program: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        machine, uuid = ours.simulated_l20(folder)
        tenants = ours.Tenants(folder / "tenants")
        urgent = what in URGENT
        share, neighbour = (None, None) if urgent else (SHARE, NEIGHBOUR)
        classes = ("latency-critical", "best-effort") if urgent else ("normal", "normal")
        tenants.promise("hostile", uuid, devices=compute(uuid, share), priority=classes[0])
        tenants.promise("honest", uuid, devices=compute(uuid, neighbour), priority=classes[1])
        process = ours.arbiter(folder, tenants.folder, **machine)
        wait_until(lambda: all(tenants.socket(t).exists() for t in ("hostile", "honest")), "the arbiter")
        state = folder / "state" / "status.json"
        seconds = SECONDS[what]
        started = [
            Container(machine, tenants, tenant, state).start([program, does, str(seconds)])
            for tenant, does in (("honest", "neighbour"), ("hostile", what))
        ]
        honest, hostile = ([float(line) for line in finish(one).split()] for one in started)
        found = findings(state)
        process.stop()

    def shown(permille: int | None) -> str:
        return "no cap" if permille is None else f"{permille / 10:.0f} %"

    def part(values: list) -> str:
        return f"{statistics.mean(values):5.1f} %"

    print(
        f"{what:10} of {shown(share)}: {part(hostile)} (first 5 s {part(hostile[:5])}, last third "
        f"{part(hostile[-seconds // 3:])}); its neighbour of {shown(neighbour)}: {part(honest)} "
        f"(first third {part(honest[: seconds // 3])}); findings: {found}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=" ".join(SECONDS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(pathlib.Path(folder), "hostile.cpp")
        for what in options.what or SECONDS:
            measure(what, program)


if __name__ == "__main__":
    main()
