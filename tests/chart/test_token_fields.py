"""Which fields a token of ours can write, of every kind that it may write, tried one by one on a real API
server. token_fields.txt is the list; a field that it does not name, such as one of a later Kubernetes, must be
refused by our policies. `TRANCHE_UPDATE=1` writes it anew."""

import contextlib
import os
import pathlib

import pytest
import token_objects as objects
from api_server import Refused, running_server
from fields import Schemas, at, grown, put, text
from helm import Helm, find_helm
from modes import EVICT, MODES
from node_features import NODE_FEATURES
from token_values import VALUES

TABLE = pathlib.Path(__file__).parent / "token_fields.txt"
HEAD = """\
# What tokens of ours can write: ACCOUNT VERB RESOURCE, and below it the fields whose change the API server
# takes (allowed), and those where it refuses or drops by itself the value that is tried (kubernetes).
# Our admission policies refuse all others. No policy sees webhook configurations, and none holds the cleanup's token,
# which is there during `helm uninstall` only. tests/chart/test_token_fields.py tries it.
"""
NAMESPACE = objects.NAMESPACE
AGENT = "gpu-tranche-agent"
MPS = "gpu-tranche-mps-control-daemon"
CONTROLLER = "gpu-tranche-controller"
CLEANUP = "gpu-tranche-cleanup"
POLICY = "ValidatingAdmissionPolicy 'gpu-tranche-"

# Metadata that the API server keeps or sets, whoever writes it.
BY_THE_SERVER = (
    *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields"),
    *("name", "namespace", "resourceVersion", "uid"),
)


def everything(account: str) -> list[dict]:
    """More than the account has, to show that policies refuse, not RBAC."""
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"all-{account}"}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": role["name"]}}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    return [
        {**head, "kind": "ClusterRole", "rules": [rule]},
        {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]},
    ]


def chart(folder: pathlib.Path) -> list[dict]:
    """The policies and accounts with all that an agent and a controller may be asked to do."""
    values = {
        "config": {"map": {"default": EVICT}},
        "gfd": {"enabled": True, "labelOutput": "node"},
        "dra": {"enabled": True},
        "mps": {"enabled": True},
        "fractions": {"enabled": True},
    }
    helm = Helm(find_helm(), folder)
    rendered = helm.template(values | MODES["mig-pools"], namespace=NAMESPACE)
    follows = helm.template({"clusterPolicy": {"enabled": True, "installCRD": True}}, namespace=NAMESPACE)
    kinds = ("ServiceAccount", "CustomResourceDefinition")
    policies = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    definitions = [o for o in follows.of("CustomResourceDefinition") if "clusterpolicies" in o["metadata"]["name"]]
    return definitions + [o for o in rendered.objects if o["kind"] in kinds + policies]


class Cluster:
    """The chart on an API server, a node with an agent's token, and what that agent and the controller have
    written."""

    def __init__(self, server, folder: pathlib.Path):
        self.server = server
        for name in (NAMESPACE, "default"):
            server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for item in (NODE_FEATURES, *chart(folder)):
            server.apply(item)
        for account in (AGENT, MPS, CONTROLLER, CLEANUP):
            for item in everything(account):
                server.apply(item)
        self.uid = self.make(objects.node("a"))["metadata"]["uid"]
        self.put_status(self.live(objects.node("a")), objects.node("a")["status"])
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        server.apply({**account, "metadata": {"name": "default", "namespace": "default"}})
        self.evicted = self.make(objects.pod("evicted", "default", "default"))
        self.tokens = {account: self.token(account) for account in (AGENT, MPS)}
        self.tokens |= {account: server.token(NAMESPACE, account) for account in (CONTROLLER, CLEANUP)}
        self.in_force()

    def token(self, account: str) -> str:
        """As kubelet asks for one: of a Pod on node a."""
        return self.server.token(NAMESPACE, account, self.make(objects.pod(account, NAMESPACE, account)))

    def make(self, item: dict) -> dict:
        return self.server.wait(
            lambda: self.server.request("POST", self.server.path(item).rpartition("/")[0], item), item["kind"]
        )

    def put_status(self, item: dict, status: dict) -> dict:
        return self.server.request("PUT", self.server.path(item) + "/status", {**item, "status": status})

    def live(self, item: dict) -> dict:
        return self.server.request("GET", self.server.path(item))

    def in_force(self):
        """The API server takes some moments to follow new policies."""
        before, path = self.live(objects.node("a")), ("metadata", "labels")
        for account in (AGENT, CONTROLLER):
            self.server.wait(
                lambda account=account: self.verdict(account, "UPDATE", "", before, path, {"example.org/probe": "x"})
                == "policy",
                f"{account} is held by its policy",
            )

    def verdict(self, account: str, verb: str, sub: str, before: dict, path: tuple, value) -> str:
        """path empty: what is there, as it is."""
        item = put(before, path, value) if path else before
        where = self.server.path({**before, "apiVersion": "v1", "kind": "Pod"} if sub == "/eviction" else before)
        if verb == "CREATE":
            method, where = "POST", where + sub if sub else where.rpartition("/")[0]
        else:
            method, where = "PUT", where + sub
        try:
            after = self.server.request(method, f"{where}?dryRun=All", item, token=self.tokens[account])
        except Refused as error:
            assert path, f"what it writes is refused: {account} {verb} {before}: {error.message}"
            return "policy" if POLICY in error.message else "kubernetes"
        if not path:
            return "allowed"
        return "kubernetes" if at(after, path) == at(before, path) else "allowed"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm")
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield Cluster(server, tmp_path_factory.mktemp("helm"))


NODE = {"kind": "Node", "name": "a"}
POD = {"kind": "Pod", "name": "p", "namespace": "default"}
AGENTS_EVENT = objects.event("tranche.dev/agent", "a", NODE)
CONTROLLERS_EVENT = objects.event("tranche.dev/controller", "c", POD)

# (account, verb, subresource) -> what it writes, as a function of the cluster
CASES = {
    (AGENT, "UPDATE", ""): [
        lambda c: objects.node("a"),
        lambda c: objects.resource_slice("a", c.uid),
        lambda c: objects.node_feature("a"),
        lambda c: objects.gpu_node("a", c.uid),
        lambda c: AGENTS_EVENT,
    ],
    (AGENT, "UPDATE", "/status"): [
        lambda c: objects.node("a"),
        lambda c: objects.gpu_node("a", c.uid),
        lambda c: objects.claim("of-a"),
    ],
    (AGENT, "CREATE", ""): [
        lambda c: objects.resource_slice("a", c.uid),
        lambda c: objects.node_feature("a"),
        lambda c: objects.gpu_node("a", c.uid),
        lambda c: AGENTS_EVENT,
    ],
    (MPS, "CREATE", ""): [lambda c: AGENTS_EVENT],
    (CONTROLLER, "UPDATE", ""): [
        lambda c: objects.node("a"),
        lambda c: CONTROLLERS_EVENT,
        lambda c: objects.quota(),
        lambda c: objects.lease(),
        lambda c: objects.config_map("gpu-tranche-mig-pools-status"),
        lambda c: objects.secret("gpu-tranche-webhook"),
        lambda c: objects.webhook_configuration("gpu-tranche-webhook"),
    ],
    (CONTROLLER, "UPDATE", "/status"): [lambda c: objects.quota(), lambda c: objects.cluster_policy()],
    (CONTROLLER, "CREATE", ""): [
        lambda c: objects.claim("share", share_of="p"),
        lambda c: objects.claim_template(),
        lambda c: objects.quota(),
        lambda c: CONTROLLERS_EVENT,
    ],
    (CLEANUP, "UPDATE", ""): [lambda c: objects.daemon_set("gpu-tranche")],
    (CONTROLLER, "CREATE", "/eviction"): [lambda c: objects.eviction(c.evicted)],
}


@contextlib.contextmanager
def object_of(cluster, item: dict, verb: str):
    """As a change finds it: for a creation it is not there."""
    server = cluster.server
    if verb == "CREATE":
        yield item
        return
    made = cluster.live(item) if item["kind"] == "Node" else cluster.make(item)
    if item["kind"] == "ResourceClaim":
        made = cluster.put_status(made, objects.allocation("a"))
    elif item["kind"] == "GPUNode":
        made = cluster.put_status(made, {"mode": "dra"})
    yield made
    if item["kind"] != "Node":
        server.request("DELETE", server.path(item))


def schema_of(cluster, item: dict) -> tuple[Schemas, dict]:
    """Of NodeFeatures the server of this test knows none."""
    version = item["apiVersion"]
    schemas = Schemas(cluster.server, "v1" if item["kind"] == "Eviction" else version)
    of = schemas.of(item["kind"], version)
    if item["kind"] != "NodeFeature":
        return schemas, of
    free = {"type": "object"}
    features = dict.fromkeys(("flags", "attributes", "instances", "others"), free)
    spec = {"type": "object", "properties": {"labels": free, "features": {**free, "properties": features}}}
    return schemas, {"properties": {"metadata": of["properties"]["metadata"], "spec": spec}}


def verdicts(cluster, account: str, verb: str, sub: str, item: dict):
    """(field, verdict) of each field: another value, and where there is one, none."""
    schemas, schema = schema_of(cluster, item)
    with object_of(cluster, item, verb) as before:
        assert cluster.verdict(account, verb, sub, before, (), None) == "allowed"
        for path, of in schemas.fields(schema, before):
            if path[0] in ("apiVersion", "kind") or path[:1] == ("metadata",) and path[1] in BY_THE_SERVER:
                continue
            now = at(before, path)
            value = VALUES.get(text(path)) or VALUES.get(path[-1]) or schemas.example(of)
            yield text(path), cluster.verdict(account, verb, sub, before, path, grown(now, value))
            if now is not None and cluster.verdict(account, verb, sub, before, path, None) == "allowed":
                yield f"{text(path)} (taken away)", "allowed"


def lines(cluster) -> list[str]:
    found = []
    for (account, verb, sub), items in CASES.items():
        for make in items:
            item = make(cluster)
            found.append(f"\n{account} {verb} {item['kind']}{sub}")
            told = merged(dict(verdicts(cluster, account, verb, sub, item)))
            for verdict in ("allowed", "kubernetes"):
                found += [f"  {verdict}: {field}" for field in sorted(told) if told[field] == verdict]
    return found


def merged(told: dict[str, str]) -> dict[str, str]:
    """A part of which the API server takes nothing is one line."""
    parts = {field.partition(".")[0]: set() for field in told}
    for field, verdict in told.items():
        parts[field.partition(".")[0]].add(verdict)
    whole = {part for part in parts if parts[part] == {"kubernetes"}}
    kept = {field: verdict for field, verdict in told.items() if field.partition(".")[0] not in whole}
    return kept | dict.fromkeys(whole, "kubernetes")


def test_what_tokens_write(cluster):
    now = HEAD + "\n".join(lines(cluster)) + "\n"
    if os.environ.get("TRANCHE_UPDATE"):
        TABLE.write_text(now)
    assert now == TABLE.read_text()
