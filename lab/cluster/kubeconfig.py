"""kubeconfig files with everything inside, so that they can be copied. JSON is YAML."""

import base64
import json
import pathlib

from .pki import Pki


def write_kubeconfig(path: pathlib.Path, server: str, pki: Pki, name: str, context: str) -> None:
    def data(file: pathlib.Path) -> str:
        return base64.b64encode(file.read_bytes()).decode()

    cluster = {"server": server, "certificate-authority-data": data(pki.authority)}
    user = {
        "client-certificate-data": data(pki.certificate(name)),
        "client-key-data": data(pki.key(name)),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": name}}],
        "current-context": context,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=1) + "\n")
