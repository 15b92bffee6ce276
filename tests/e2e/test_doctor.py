"""`tranche doctor --node`: findings by their ids, beside a node that is well and one that is not."""

import json
import subprocess

import pytest

from node import sharing
from programs import TRANCHE, wait_until
from test_schemas import schema, validator


def doctor(here, *more: str, env: dict | None = None) -> tuple[int, dict]:
    """The exit code, and what is told of each finding by its id."""
    places = (f"--kubelet-root={here.dir / 'k'}", f"--state-dir={here.state}", f"--host-root={here.host}")
    done = subprocess.run(
        [TRANCHE, "doctor", "--node", "-o", "json", *places, *more],
        env=here.env if env is None else env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    document = json.loads(done.stdout)
    validator(schema("doctor-v1")).validate(document)
    return done.returncode, {one["id"]: one for one in document["findings"]}


# This node's /proc is empty, so whose processes are is not known.
PROCESSES = {"TRN-N041"}


def test_a_node_and_what_ends_on_it(node):
    here = node("t4")
    agent = here.agent("--metrics-address=127.0.0.1:0", config=sharing(2))
    port = agent.wait_log(r"metrics are served at port (\d+)").group(1)
    wait_until(lambda: doctor(here)[1].keys() == PROCESSES, "the agent is ready, and all else is well")
    code, found = doctor(here, f"--metrics-address=127.0.0.1:{port}")
    assert (code, set(found)) == (1, PROCESSES)
    assert "metrics.hostPID" in found["TRN-N041"]["do"]
    arbiter = f"--arbiter-state-dir={here.dir / 'none'}"
    _, found = doctor(here, f"--kubelet-root={here.dir}", "--metrics-address=127.0.0.1:1", arbiter)
    assert set(found) == PROCESSES | {"TRN-N020", "TRN-N021", "TRN-N030", "TRN-N040"}
    agent.signal(15)
    agent.wait()
    assert set(doctor(here)[1]) == PROCESSES | {"TRN-N010"}


def test_elsewhere_it_says_so(node):
    here = node("t4")
    nowhere = here.dir / "nowhere"
    places = (f"--kubelet-root={nowhere}", f"--state-dir={nowhere}")
    code, found = doctor(here, *places, env={})
    assert code == 3
    assert set(found) == {"TRN-N001", "TRN-N010", "TRN-N012", "TRN-N020", "TRN-N021"}


@pytest.mark.parametrize("arguments", [(), ("--node=maybe",)])
def test_what_to_look_at_is_said(node, arguments):
    done = subprocess.run([TRANCHE, "doctor", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "--node" in done.stderr
