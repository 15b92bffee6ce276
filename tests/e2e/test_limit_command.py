"""`tranche limit` chooses its cluster as kubectl does: file, context, namespace."""

import http.server
import json
import subprocess
import threading

import pytest
from programs import TRANCHE, clean_environment


class Cluster:
    """An API server without Nodes and Pods that remembers what was asked."""

    def __init__(self):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path.split("?")[0])
                found = self.path.startswith("/api/v1/nodes")
                kind = "NodeList" if found else "Status"
                body = {"kind": kind, "apiVersion": "v1", "metadata": {}, "items": [], "message": "no such Pod"}
                text = json.dumps(body).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def clusters():
    both = {"test": Cluster(), "prod": Cluster()}
    yield both
    for one in both.values():
        one.end()


def kubeconfig(clusters: dict) -> str:
    contexts = {"test": {"cluster": "test"}, "prod": {"cluster": "prod", "namespace": "shop"}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": name, "context": one} for name, one in contexts.items()],
            "clusters": [{"name": name, "cluster": {"server": one.url}} for name, one in clusters.items()],
        }
    )


def limit(home, *words: str) -> subprocess.CompletedProcess:
    env = clean_environment(HOME=home)
    return subprocess.run([TRANCHE, "limit", *words], env=env, capture_output=True, text=True, check=False)


def test_contexts(tmp_path, clusters):
    file = tmp_path / ".kube" / "config"
    file.parent.mkdir()
    file.write_text(kubeconfig(clusters))
    test, prod = clusters["test"].asked, clusters["prod"].asked

    done = limit(tmp_path, "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert (test, prod) == (["/api/v1/nodes"], []), "current-context of ~/.kube/config"

    assert limit(tmp_path, "list", "--context", "prod").returncode == 0
    assert prod.pop() == "/api/v1/nodes"
    assert limit(tmp_path, "get", "p", "--context=prod").returncode == 1
    assert prod.pop() == "/api/v1/namespaces/shop/pods/p", "the context's namespace"
    assert limit(tmp_path, "--context", "prod", "get", "p", "-n", "other").returncode == 1
    assert prod.pop() == "/api/v1/namespaces/other/pods/p"
    assert limit(tmp_path, "get", "p").returncode == 1
    assert test.pop() == "/api/v1/namespaces/default/pods/p"

    moved = file.rename(tmp_path / "elsewhere")
    assert limit(tmp_path, "list", "--kubeconfig", str(moved), "--context", "prod").returncode == 0
    assert prod == ["/api/v1/nodes"]


def test_a_context_that_is_not_there(tmp_path, clusters):
    file = tmp_path / "config"
    file.write_text(kubeconfig(clusters))
    done = limit(tmp_path, "list", "--kubeconfig", str(file), "--context", "nowhere")
    assert done.returncode == 2
    assert 'no "nowhere" among contexts' in done.stderr
    assert "test, prod" in done.stderr
    done = limit(tmp_path, "list", "--context", "nowhere")
    assert done.returncode == 2
    assert "there is no kubeconfig that could have it" in done.stderr
    done = limit(tmp_path, "list")
    assert done.returncode == 3
    assert not clusters["test"].asked + clusters["prod"].asked
