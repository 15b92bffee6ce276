"""Values that the API server takes, where its schema does not tell: by a field's path, or by its last name."""

VALUES = {
    "annotations": {"example.org/probe": "x"},
    "finalizers": ["example.org/probe"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": "uid-second"}],
    "podCIDR": "10.1.0.0/24",
    "podCIDRs": ["10.1.0.0/24"],
    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoExecute"}],
    "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}],
    "capacity": {"example.org/probe": "1"},
    "allocatable": {"example.org/probe": "1"},
    "phase": "Terminated",
    "declaredFeatures": ["Probe"],
    "configSource": {"configMap": {"namespace": "a", "name": "b", "uid": "c", "kubeletConfigKey": "d"}},
    "data": {"probe": "eA=="},
    "binaryData": {"probe": "eA=="},
    "swap": {"capacity": 7},
    "spec.devices[].capacity": {"probe": {"value": "1"}},
    "status.devices[].conditions": [
        {"type": "A", "status": "True", "reason": "r", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    ],
    "spec.devices.requests": [{"name": "more", "exactly": {"deviceClassName": "gpu.nvidia.com"}}],
    "spec.hard": {"pods": "0"},
    "status.hard": {"pods": "0"},
    "deleteOptions.preconditions": {"resourceVersion": "7"},
    "type": "Warning",
    "spec.template.spec": {"hostPID": True},
    "spec.updateStrategy.type": "OnDelete",
    "webhooks[].clientConfig": {"service": {"name": "theirs", "namespace": "default", "port": 443}},
    "webhooks[].matchPolicy": "Exact",
    "webhooks[].name": "other.tranche.dev",
    "webhooks[].namespaceSelector": {"matchLabels": {"a": "b"}},
    "webhooks[].objectSelector": {"matchLabels": {"a": "b"}},
    "webhooks[].rules": [
        {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}
    ],
    "webhooks[].sideEffects": "NoneOnDryRun",
}
