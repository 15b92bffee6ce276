"""tranche controller as a process, as far as possible without an API server: flags and their
errors, and that it waits for one that is away. The rest is tested in src/programs/controller."""

import subprocess

import pytest

from programs import DEADLINE, TRANCHE, Process, clean_environment

FLAGS = ("--namespace=gpu", "--config-map-out=tranche-policy")
# Nobody listens on port 1.
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def controller(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, "controller", *map(str, arguments)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )


def test_errors_name_the_remedy():
    for arguments, code, said in (
        ([], 2, "give --namespace"),
        (["--namespace=gpu"], 2, "give --config-map-out"),
        (["--namespace=Gpu", "--config-map-out=x"], 2, "'Gpu' is no name"),
        ([*FLAGS, "--kubeconfig=/nowhere"], 1, "/nowhere"),
        (FLAGS, 1, "name a kubeconfig file"),
        ([*FLAGS, "--leader-elected"], 2, "leader-elect"),
        ([*FLAGS, "more"], 2, "unexpected argument 'more'"),
    ):
        done = controller(*arguments)
        assert done.returncode == code, arguments
        assert said in done.stderr, (arguments, done.stderr)


def test_help_lists_its_flags():
    done = controller("--help")
    assert done.returncode == 0
    for flag in ("--namespace", "--config-map-out", "--leader-elect", "--kubeconfig"):
        assert flag in done.stdout
    assert "--mig-strategy" not in done.stdout


@pytest.mark.parametrize(
    "election, said", [((), "cannot follow"), (("--leader-elect",), "cannot be taken")]
)
def test_waits_for_an_api_server_and_ends_when_told(tmp_path, election, said):
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    command = [TRANCHE, "controller", *FLAGS, f"--kubeconfig={kubeconfig}", *election]
    process = Process(command, tmp_path / "log", clean_environment())
    try:
        process.wait_log(said)
        assert process.running()
        assert process.stop() == 0, process.log
    finally:
        process.kill()
