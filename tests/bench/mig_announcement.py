"""What the announcement of a change of a MIG layout costs the controller in a large cluster:

    build/venv/bin/python tests/bench/mig_announcement.py [--pods 30000] [--nodes 1000]

An API server of this file generates the Nodes and Pods as they are asked for, page by page. Every fourth Pod asks
for a GPU. On one Node an agent asks for a change. Printed are the time until the controller has answered, and the most memory that it had resident
until then, and when it had nothing to do. As many Pods of a tenant as --large says have annotations of 200 KB."""

import argparse
import datetime
import http.server
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRANCHE = ROOT / "build" / "bin" / "tranche"
CHANGE, DRAIN = "tranche.dev/mig-change", "tranche.dev/mig-drain"
# As large as Pods of a Deployment are, including what the API server adds.
FIELDS = {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:{i}": {} for i in range(200)}}


def now(seconds: int = 0) -> str:
    time_ = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return time_.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def node(number: int) -> dict:
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "250", "nvidia.com/gpu": "8"}
    conditions = [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}]
    images = [{"names": [f"registry.example/team/image-{i}@sha256:{i:064d}"], "sizeBytes": i} for i in range(50)]
    return {
        "metadata": {"name": f"gpu-{number}", "uid": f"n{number}", "resourceVersion": "1"},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions, "images": images},
    }


def pod(gpus: bool = False, large: bool = False) -> dict:
    limits = {"cpu": "1", "memory": "1Gi"} | ({"nvidia.com/gpu": "1"} if gpus else {})
    container = {"name": "c", "image": "registry.example/team/image-7:1", "resources": {"limits": limits}}
    container["env"] = [{"name": f"SETTING_{i}", "value": "x" * 40} for i in range(20)]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    metadata = {"name": "web-NUMBER", "namespace": "shop", "uid": "pNUMBER", "resourceVersion": "1"}
    metadata |= {"ownerReferences": [owner], "managedFields": [FIELDS]}
    if large:
        metadata["annotations"] = {"note": "x" * 200_000}
    spec = {"nodeName": "NODE", "containers": [container]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


POD, GPU_POD, LARGE_POD = json.dumps(pod()), json.dumps(pod(gpus=True)), json.dumps(pod(gpus=True, large=True))


class Cluster:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.asking = node(0)
        self.answered = threading.Event()
        self.pages = 0

    def ask(self) -> None:
        change = {
            "version": "mig-change/v1", "id": "c-1", "layout": "all-1g.10gb", "phase": "asking",
            "writtenAt": now(), "deadline": now(300), "failed": False,
            "before": {"nvidia.com/gpu": 8}, "after": {"nvidia.com/mig-1g.10gb": 56},
            "pods": [{"namespace": "shop", "name": "web-0"}], "journal": "",
        }  # fmt: skip
        self.asking["metadata"] |= {"labels": {CHANGE: "open"}, "annotations": {CHANGE: json.dumps(change)}}

    def page(self, kind: str, query: dict) -> bytes:
        begin, count = int(query.get("continue", 0)), int(query.get("limit", 500))
        if kind == "pods":
            self.pages += 1
            total, make = self.options.pods, self.pod
        else:
            total, make = self.options.nodes, lambda i: json.dumps(node(i) if i else self.asking)
        end = min(begin + count, total)
        metadata = {"resourceVersion": "9"} | ({"continue": str(end)} if end < total else {})
        items = ",".join(make(i) for i in range(begin, end))
        return f'{{"metadata":{json.dumps(metadata)},"items":[{items}]}}'.encode()

    def pod(self, number: int) -> str:
        text = LARGE_POD if number < self.options.large else GPU_POD if number % 4 == 0 else POD
        return text.replace("NUMBER", str(number)).replace("NODE", f"gpu-{number % self.options.nodes}")


def handler(cluster: Cluster):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def say(self, value: dict | bytes, status: int = 200) -> None:
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def watch(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            bookmark = {"type": "BOOKMARK", "object": {"kind": "Node", "metadata": {"resourceVersion": "9"}}}
            line = json.dumps(bookmark).encode() + b"\n"
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()
            cluster.answered.wait()

        def do_GET(self):
            url = urllib.parse.urlparse(self.path)
            query = {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()}
            if "watch" in query:
                return self.watch()
            # There are no Pods without a node.
            if query.get("fieldSelector", "").startswith("spec.nodeName=,"):
                return self.say({"metadata": {"resourceVersion": "9"}, "items": []})
            if "labelSelector" in query:
                return self.say({"metadata": {"resourceVersion": "9"}, "items": [cluster.asking]})
            kind = re.fullmatch(r"/api/v1/(nodes|pods)", url.path)
            self.say(cluster.page(kind[1], query) if kind else cluster.asking)

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.say({"metadata": {"name": "e"}}, 201)

        def do_PATCH(self):
            patch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            cluster.asking["metadata"]["annotations"].update(patch["metadata"]["annotations"])
            self.say(cluster.asking)
            cluster.answered.set()

    return Handler


def serve(cluster: Cluster, folder: pathlib.Path) -> pathlib.Path:
    """Serves it; returns the kubeconfig."""
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", folder / "key", "-out", folder / "cert")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names, *files],
        check=True,
        capture_output=True,
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(cluster))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # the client ends what is too long
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    where = {"server": f"https://127.0.0.1:{server.server_port}", "certificate-authority": str(folder / "cert")}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": where}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }  # fmt: skip
    (folder / "kubeconfig").write_text(json.dumps(config))
    return folder / "kubeconfig"


def most_resident(pid: int) -> float:
    """MB, since the process began."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1000


def processor_seconds(pid: int) -> float:
    """Of user and system together."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(options: argparse.Namespace, cluster: Cluster, kubeconfig: pathlib.Path, log) -> dict:
    flags = ["--namespace=tranche", "--mig-changes", f"--kubeconfig={kubeconfig}"]
    began = time.monotonic()
    process = subprocess.Popen([TRANCHE, "controller", *flags], stdout=log, stderr=log, env={"HOME": "/"})
    try:
        answered = cluster.answered.wait(options.within)
        took = time.monotonic() - began
        used, most = processor_seconds(process.pid), most_resident(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    answer = json.loads(cluster.asking["metadata"]["annotations"].get(DRAIN, "{}")).get("answer", "none")
    return {
        "answer": answer if answered else "none",
        "seconds": round(took, 2),
        "of a processor": round(used, 2),
        "MB": round(most, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--within", type=float, default=120)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
        cluster = Cluster(options)
        cluster.ask()
        kubeconfig = serve(cluster, pathlib.Path(folder))
        found = measure(options, cluster, kubeconfig, log)
        log.seek(0)
        print(f"{options.pods} Pods, {options.nodes} Nodes: {found}; {cluster.pages} pages of Pods")
        if found["answer"] == "none":
            print(log.read())


if __name__ == "__main__":
    main()
