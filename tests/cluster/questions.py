"""The same question asked of a command, of metrics and of the dashboard's panels, in a real Prometheus."""

import base64
import json
import pathlib

import yaml
from cluster_web import PROXY, SERVICE, metrics, report, tranche
from prometheus import Page
from prometheus_server import Prometheus, dashboard_queries, find_program  # noqa: F401


def agent_path(agent: dict) -> str:
    return f"/api/v1/namespaces/kube-system/pods/{agent['metadata']['name']}:9400/proxy/metrics"


def scraping(release, viewer: pathlib.Path, folder: pathlib.Path) -> Prometheus:
    """One that scrapes the agents and the controller, through the API server, as the viewer."""
    config = yaml.safe_load(viewer.read_text())
    [cluster], [user] = config["clusters"], config["users"]
    authority = folder / "ca.crt"
    authority.write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
    common = {
        "scheme": "https",
        "honor_labels": True,
        "authorization": {"credentials": user["user"]["token"]},
        "tls_config": {"ca_file": str(authority)},
        "static_configs": [{"targets": [cluster["cluster"]["server"].removeprefix("https://")]}],
    }
    paths = {node: agent_path(agent) for node, agent in release.agents().items()}
    paths["controller"] = f"{PROXY}/metrics"
    jobs = [{"job_name": name, "metrics_path": path, **common} for name, path in paths.items()]
    intervals = {"scrape_interval": "2s", "scrape_timeout": "2s"}
    return Prometheus(folder / "server", config={"global": intervals, "scrape_configs": jobs})


class Asked:
    """The ways to ask the same, of Pods of namespace default."""

    def __init__(self, lab, release, viewer, prometheus):
        self._lab, self._release, self._viewer, self._prometheus = lab, release, viewer, prometheus

    def top(self) -> dict:
        words = ("--cluster", "--kubeconfig", self._viewer, "--service", SERVICE, "-1", "-o", "json")
        done = tranche("top", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def containers(self) -> dict:
        """Pod -> its container, of tranche top."""
        every = [one for node in self.top()["nodes"] for one in node["usage"].get("containers", [])]
        return {one["pod"]: one for one in every if one["namespace"] == "default"}

    def report(self, *more: str) -> str:
        done = report(self._viewer, "--service", SERVICE, *more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def metric(self, name: str) -> dict:
        """Pod -> value, of all agents."""
        found = {}
        for agent in self._release.agents().values():
            page = Page(self._lab.kubectl("get", "--raw", agent_path(agent)))
            every = [(dict(labels), one) for labels, one in page.all(name).items()] if name in page else []
            found |= {has["pod"]: one for has, one in every if has["namespace"] == "default"}
        return found

    def controllers(self, name: str) -> list[tuple]:
        """Labels and value of each series."""
        return [(dict(labels), count) for labels, count in metrics(self._lab).all(name).items()]

    def panel(self, title: str, index: int = 0) -> list[dict]:
        try:
            return self._prometheus.ask(dashboard_queries()[title][index])
        except OSError:  # it starts
            return []

    def panel_by_pod(self, title: str, index: int = 0) -> dict:
        return {one["pod"]: one["value"] for one in self.panel(title, index) if one["namespace"] == "default"}

    def alike(self, ask, correct, what: str):
        """Once all ways that `ask` lists give the same, and it is correct: that."""
        seen = []

        def holds():
            seen[:] = ask()
            return all(one == seen[0] for one in seen) and correct(seen[0])

        self._lab.wait(holds, lambda: f"{what}: {seen}", 90)
        return seen[0]
