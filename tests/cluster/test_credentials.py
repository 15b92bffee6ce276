"""The agent's token is replaced while it runs: the same Pod continues, without a restart."""

import base64
import json
import time

import pytest
from pods import wait_offer
from release import Release, condition, label
from test_faults import config_map

MAP = "credential-configs"
NAMESPACE = "kube-system"
NODE = "t4"
REFUSED = "the API server does not accept the credentials of the Pod's service account"


@pytest.fixture
def release(lab):
    """On one node; its labels go to the Node, so the agent also writes with its token."""
    lab.apply(config_map(default=2, four=4).replace("node-configs", MAP))
    here = f"nodeSelector.kubernetes\\.io/hostname={NODE}"
    with Release(lab, f"config.name={MAP}", "gfd.enabled=true", "gfd.labelOutput=node", here) as one:
        wait_offer(lab, NODE, 2)
        yield one
    label(lab, NODE, "")
    lab.kubectl("delete", "configmap", MAP, "-n", NAMESPACE)
    wait_offer(lab, NODE, 0)


def token(lab, release) -> str:
    """The file that kubelet writes for the agent's Pod; empty while there is none."""
    uid = release.agents()[NODE]["metadata"]["uid"]
    folder = f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~projected"
    return lab.node(NODE).run("sh", "-c", f"cat {folder}/*/token", check=False).out.strip()


def claims(text: str) -> dict:
    part = text.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def is_good(lab, text: str) -> bool:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": text}}
    answer = lab.kubectl("create", "-o", "json", "-f", "-", text=json.dumps(review))
    return json.loads(answer)["status"].get("authenticated", False)


def follows(lab) -> None:
    """The agent reads its Node's label, and writes labels and a condition."""
    label(lab, NODE, "four")
    wait_offer(lab, NODE, 4)
    lab.wait(
        lambda: condition(lab, NODE)[:1] == ("True",) and "key four" in condition(lab, NODE)[2],
        lambda: f"{condition(lab, NODE)}",
    )
    lab.wait(
        lambda: lab.get("node", NODE)["metadata"]["labels"].get("nvidia.com/gpu.replicas") == "4",
        lambda: f"{lab.get('node', NODE)['metadata']['labels']}",
    )


def test_a_service_account_that_is_made_anew(lab, release):
    """Its tokens are refused from then on; a restarted kubelet requests new ones."""
    agents = release.agents()
    old = token(lab, release)
    assert is_good(lab, old)
    account = release.agents()[NODE]["spec"]["serviceAccountName"]
    made = lab.get("serviceaccount", account, "-n", NAMESPACE)
    lab.kubectl("delete", "serviceaccount", account, "-n", NAMESPACE)
    wanted = {key: made["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    lab.apply(json.dumps({**made, "metadata": wanted}))
    lab.wait(lambda: not is_good(lab, old), "the token is refused")
    # An open watch stays; a new one has to show the token.
    lab.restart_api_server()
    lab.wait(lambda: REFUSED in release.log(NODE), lambda: release.log(NODE)[-3000:])
    label(lab, NODE, "four")
    assert token(lab, release) == old
    lab.node(NODE).restart_kubelet()
    lab.wait(lambda: token(lab, release) not in ("", old), "kubelet writes a new token")
    follows(lab)
    lab.wait(lambda: ": followed again" in release.log(NODE), lambda: release.log(NODE)[-3000:])
    assert release.untouched(agents)


def short_token(name: str, container: str) -> str:
    """The service account's volume as Kubernetes makes it, with a token of ten minutes, the
    shortest possible."""
    place = "/var/run/secrets/kubernetes.io/serviceaccount"
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    spec = {
        "automountServiceAccountToken": False,
        "volumes": [{"name": name, "projected": {"sources": sources}}],
        "containers": [
            {"name": container, "volumeMounts": [{"name": name, "mountPath": place, "readOnly": True}]}
        ],
    }
    return json.dumps({"spec": {"template": {"spec": spec}}})


@pytest.mark.soak
def test_a_token_that_expires_after_ten_minutes(lab, release):
    """kubelet replaces it after eight."""
    before = release.agents()[NODE]["metadata"]["uid"]
    patch = short_token("short-token", "agent")
    lab.kubectl("-n", NAMESPACE, "patch", "daemonset", release.name, "-p", patch)
    lab.wait(
        lambda: NODE in release.agents() and release.agents()[NODE]["metadata"]["uid"] != before,
        "an agent with the short token",
    )
    lab.wait_pod(release.agents()[NODE]["metadata"]["name"], namespace=NAMESPACE)
    agents = release.agents()
    first = claims(token(lab, release))
    assert first["exp"] - first["iat"] == 600
    follows(lab)
    label(lab, NODE, "")
    wait_offer(lab, NODE, 2)
    # A minute more: no cache accepts the token any longer.
    lab.wait(lambda: time.time() > first["exp"] + 60, "the first token has expired", timeout=900)
    assert claims(token(lab, release))["iat"] > first["iat"]
    follows(lab)
    assert REFUSED not in release.log(NODE)
    assert release.untouched(agents)
