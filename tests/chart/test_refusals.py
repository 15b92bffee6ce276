"""Values that cannot be meant are refused, with a remedy."""

import pytest
from modes import TIME_SLICING

CASES = {
    # by the schema: (values, what the message names)
    "misspelt": ({"migStratgy": "none"}, ["migStratgy", "not allowed"]),
    "misspelt below": ({"config": {"nam": "x"}}, ["/config", "nam"]),
    "mig strategy": ({"migStrategy": "both"}, ["/migStrategy", "'single'"]),
    "bool as text": ({"failOnInitError": "yes"}, ["/failOnInitError", "boolean"]),
    "device list strategy": ({"deviceListStrategy": "envvars"}, ["/deviceListStrategy"]),
    "fallback strategy": (
        {"config": {"fallbackStrategies": ["first"]}},
        ["/config/fallbackStrategies", "'named'"],
    ),
    "relative driver root": ({"nvidiaDriverRoot": "run/nvidia"}, ["/nvidiaDriverRoot"]),
    "digest": ({"image": {"digest": "latest"}}, ["/image/digest"]),
    "configuration that is no text": ({"config": {"map": {"a": {"version": "v1"}}}}, ["/config/map/a"]),
    "key of a ConfigMap": ({"config": {"map": {"a b": "version: v1"}}}, ["a b"]),
    "digest that is too short": ({"image": {"digest": "sha256:abc"}}, ["/image/digest"]),
    "address that is no network": (
        {"networkPolicy": {"apiServerOnly": {"cidrs": ["10.0.0.1"]}}},
        ["/networkPolicy/apiServerOnly/cidrs"],
    ),
    "a budget of nothing": ({"controller": {"maxUnavailable": 0}}, ["/controller/maxUnavailable"]),
    "replicas": ({"controller": {"replicas": 0}}, ["/controller/replicas"]),
    # by the templates, in the words of NVIDIA's chart if it has any
    "name and map": (
        {"config": {"name": "x", "map": {"default": TIME_SLICING}}},
        [
            "Only one of 'config.name' or 'config.map' should ever be set",
            "Use 'config.name' to point to an external ConfigMap",
        ],
    ),
    "no default": (
        {"config": {"map": {"a": TIME_SLICING, "b": TIME_SLICING}}},
        ["A default config must be provided", "the current set is [named single]"],
    ),
    "namespace in values": ({"namespace": "gpu"}, ["Value 'namespace' set to gpu", "Use --namespace"]),
    "default that is not there": (
        {"config": {"map": {"a": TIME_SLICING}, "default": "b"}},
        ["'config.default' names 'b'", "It has: a."],
    ),
    "not YAML": ({"config": {"map": {"default": "a: [b"}}}, ["'default' in 'config.map' is not YAML"]),
    "default without configurations": (
        {"config": {"default": "a"}},
        ["'config.default' names 'a', and there are no configurations"],
    ),
    "nothing but comments": (
        {"config": {"map": {"default": "# nothing"}}},
        ["The configuration 'default' in 'config.map' is empty: nothing is shared", "Write 'version: v1'"],
    ),
    "the same in the GPU operator's spelling": (
        {"devicePlugin": {"config": {"create": True, "name": "c", "data": {"a": "# version: v1\n# sharing: later\n"}}}},
        ["The configuration 'a'", "is empty: nothing is shared"],
    ),
    "an empty text": ({"config": {"map": {"a": ""}}}, ["The configuration 'a' in 'config.map' is empty"]),
    "null": ({"config": {"map": {"a": "null"}}}, ["The configuration 'a' in 'config.map' is empty"]),
    "a mark alone": ({"config": {"map": {"a": "---\n"}}}, ["The configuration 'a' in 'config.map' is empty"]),
    "an empty mapping": ({"config": {"map": {"a": "{}"}}}, ["The configuration 'a' in 'config.map' is empty"]),
    "sections with nothing below": (
        {"config": {"map": {"a": "sharing:\n#  timeSlicing:\nflags: {}\n"}}},
        ["The configuration 'a' in 'config.map' is empty"],
    ),
    "two documents": (
        {"config": {"map": {"a": "version: v1\n---\n" + TIME_SLICING}}},
        ["The configuration 'a' in 'config.map' has 2 documents", "the first one alone is read"],
    ),
    "two documents, the first with an end": (
        {"config": {"map": {"a": "version: v1\n...\n" + TIME_SLICING}}},
        ["The configuration 'a' in 'config.map' has 2 documents"],
    ),
    "another version, in capitals": (
        {"config": {"map": {"a": "VERSION: v2"}}},
        ["'a' in 'config.map' has an unknown version: v2"],
    ),
    "a section of a wrong type, in capitals": (
        {"config": {"map": {"a": "version: v1\nSharing: [timeSlicing]"}}},
        ["The configuration 'a' in 'config.map': sharing is no mapping"],
    ),
    "another version": ({"config": {"map": {"a": "version: v2"}}}, ["'a' in 'config.map' has an unknown version: v2"]),
    "a section of a wrong type": (
        {"config": {"map": {"a": "version: v1\nsharing: [timeSlicing]"}}},
        ["The configuration 'a' in 'config.map': sharing is no mapping"],
    ),
    "two spellings": (
        {"config": {"name": "x"}, "devicePlugin": {"config": {"name": "theirs"}}},
        ["set one of the two"],
    ),
    "create without data": (
        {"devicePlugin": {"config": {"create": True, "name": "theirs"}}},
        ["'devicePlugin.config.data'", "Set both"],
    ),
    "data without create": (
        {"devicePlugin": {"config": {"data": {"a": "b"}}}},
        ["only with 'devicePlugin.config.create=true'"],
    ),
    "policy and name": (
        {"config": {"name": "x"}, "clusterPolicy": {"enabled": True}},
        ["'clusterPolicy.enabled=true' takes the configuration from the policy object"],
    ),
    "CRD without policy": ({"clusterPolicy": {"installCRD": True}}, ["need 'clusterPolicy.enabled=true'"]),
    "eviction without an arbiter": (
        {"config": {"map": {"default": TIME_SLICING}}, "limits": {"evict": True}},
        ["'limits.evict=true'", "Set 'limits.enabled=true'"],
    ),
    "nothing to run": ({"devicePlugin": {"enabled": False}}, ["there is nothing to run"]),
    "NVIDIA's image": (
        {"image": {"repository": "nvcr.example/nvidia/k8s-device-plugin"}},
        ["'image.repository' is nvcr.example/nvidia/k8s-device-plugin, NVIDIA's own image", "no program tranche"],
    ),
    "NVIDIA's image in a mirror's folder": (
        {"image": {"repository": "mirror.example:5000/hub/nvidia/k8s-device-plugin", "tag": "v0.20.0"}},
        ["NVIDIA's own image"],
    ),
    "NVIDIA's image by its oldest name": (
        {"image": {"repository": "nvidia/k8s-device-plugin"}},
        ["NVIDIA's own image"],
    ),
    "names of two": (
        {"compat": {"operatorNames": True, "nvidiaNames": True}},
        ["'compat.operatorNames'", "'compat.nvidiaNames'", "set one of the two"],
    ),
    "a manager of MIG without the agent": (
        {"migManager": {"enabled": True}, "devicePlugin": {"enabled": False}, "gfd": {"enabled": True}},
        ["'migManager.enabled=true' needs 'devicePlugin.enabled=true'"],
    ),
    "pools without the manager": (
        {"migManager": {"pools": [{"name": "a", "nodeSelector": {"a": "b"}, "layout": "c"}]}},
        ["'migManager.pools'", "Set 'migManager.enabled=true'"],
    ),
    "a pool of all nodes": (
        {"migManager": {"enabled": True, "pools": [{"name": "a", "nodeSelector": {}, "layout": "c"}]}},
        ["nodeSelector"],
    ),
    "feature discovery": (
        {"nfd": {"enabled": True}},
        ["does not bring node feature discovery", "gfd.labelOutput=node"],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.difference("chart-unknown-values", "chart-image")
def test_refused(helm, case):
    values, texts = CASES[case]
    message = helm.refusal(values)
    for text in texts:
        assert text in message


@pytest.mark.parametrize(
    "text",
    (
        "version: v1",
        "---\nversion: v1\n---\n# no more\n",
        "---\n# why\nversion: v1\n",
        "%YAML 1.1\n---\nversion: v1\n...\n",
    ),
)
def test_what_says_that_nothing_is_shared_is_taken(helm, text):
    assert helm.template({"config": {"map": {"a": text}}}).one("ConfigMap")


@pytest.mark.parametrize("section", ("nfd", "gfd", "config", "image", "mps", "probes"))
def test_an_empty_section_is_named(helm, section):
    """As a line of a values file with nothing below it."""
    refused = helm.refusal({section: None})
    assert f"'{section}' is empty" in refused and "Remove the line" in refused


def test_empty_labels_of_pods_are_none(helm):
    assert helm.template({"podLabels": None}).one("DaemonSet")


def test_default_namespace_is_refused_unless_allowed(helm):
    message = helm.refusal({}, namespace="default")
    assert "Running in the 'default' namespace is not recommended." in message
    assert "Set 'allowDefaultNamespace=true' to bypass this error." in message
    rendered = helm.template({"allowDefaultNamespace": True}, namespace="default")
    assert rendered.one("DaemonSet")["metadata"]["namespace"] == "default"


def test_admission_policy_needs_kubernetes_1_30(helm):
    message = helm.refusal({}, "--kube-version", "1.29.4")
    assert "needs Kubernetes 1.30 or later; this is v1.29.4" in message
    assert helm.template({"admissionPolicy": {"enabled": False}}, "--kube-version", "1.29.4").one("DaemonSet")


@pytest.mark.parametrize("empty", ["empty", "single"])
def test_fallbacks_that_stand_in_for_a_default(helm, empty):
    configs = {"a": TIME_SLICING, "b": TIME_SLICING} if empty == "empty" else {"a": TIME_SLICING}
    rendered = helm.template({"config": {"map": configs, "fallbackStrategies": [empty]}})
    assert rendered.env()["FALLBACK_STRATEGIES"] == empty


@pytest.mark.parametrize("repository", ["here/tranche", "here/nvidia/k8s-device-plugin-tranche", "nvidia/tranche"])
def test_other_images_are_taken(helm, repository):
    rendered = helm.template({"image": {"repository": repository, "tag": "1"}})
    assert rendered.agent()["image"] == f"{repository}:1"
