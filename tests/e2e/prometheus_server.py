"""A real Prometheus, and what the chart's dashboard asks it for."""

import json
import os
import socket
import sys
import urllib.parse
import urllib.request

from programs import ROOT, Process

sys.path.append(str(ROOT / "tests/chart"))
from prometheus_programs import find_program  # noqa: E402

DASHBOARD = ROOT / "deploy/helm/tranche/files/dashboard.json"


class Prometheus:
    """It scrapes targets each second, and keeps their labels; or does as a configuration says."""

    def __init__(self, folder, *targets: str, config: dict | None = None):
        folder.mkdir()
        scrape = {"job_name": "tranche", "honor_labels": True, "scrape_interval": "1s", "scrape_timeout": "1s"}
        scrape["static_configs"] = [{"targets": list(targets)}]
        file = folder / "prometheus.yml"
        file.write_text(json.dumps(config or {"scrape_configs": [scrape]}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        program = find_program("prometheus")
        words = [f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}"]
        words += [f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"]
        self.process = Process(["prometheus", *words], folder / "log", dict(os.environ), executable=program)

    def ask(self, query: str) -> list[dict]:
        """The series of an instant query: labels and value."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return [{**one["metric"], "value": float(one["value"][1])} for one in found["data"]["result"]]

    def answers(self, query: str) -> bool:
        try:
            return bool(self.ask(query))
        except OSError:  # it starts
            return False


def dashboard_queries() -> dict[str, list[str]]:
    """By the panel's title, as Grafana sends them for all nodes and Pods."""
    found: dict[str, list[str]] = {}
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$node", ".+").replace("$namespace", ".*").replace("$pod", ".*")
            found.setdefault(panel["title"], []).append(query)
    return found
