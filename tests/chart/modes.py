"""The modes of use that every test of the chart goes through: name -> values."""

TIME_SLICING = """\
version: v1
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""

LIMITS = TIME_SLICING + """\
tranche:
  limits:
    enforcement: strict
"""

EVICT = LIMITS + "    unregistered: evict\n"
MPS = TIME_SLICING.replace("timeSlicing", "mps")

MODES = {
    "defaults": {},
    "no-gpu-node": {"gpuNode": {"enabled": False}},
    "config-map": {"config": {"map": {"default": TIME_SLICING, "whole": "version: v1\n"}}},
    "external-config": {"config": {"name": "time-slicing-config", "default": "any"}},
    "operators-spelling": {"devicePlugin": {"config": {"name": "time-slicing-config"}}},
    "labels-nodefeature": {"gfd": {"enabled": True, "labelOutput": "nodefeature"}},
    "labels-node": {"gfd": {"enabled": True, "labelOutput": "node"}, "config": {"name": "c"}},
    "labels-file": {"gfd": {"enabled": True, "labelOutput": "file"}},
    "labels-only": {"gfd": {"enabled": True, "labelOutput": "node"}, "devicePlugin": {"enabled": False}},
    "mig": {"migStrategy": "mixed"},
    "mig-pools": {
        "migManager": {
            "enabled": True,
            "pools": [{"name": "a100", "nodeSelector": {"pool": "a100"}, "layout": "all-1g.10gb"}],
        },
    },
    "mig-manager": {"migManager": {"enabled": True, "config": {"name": "layouts"}}, "migStrategy": "mixed"},
    "cdi": {"deviceListStrategy": "cdi-cri", "nvidiaDriverRoot": "/run/nvidia/driver"},
    "volume-mounts": {"deviceListStrategy": ["envvar", "volume-mounts"]},
    "cpu-manager": {"compatWithCPUManager": True},
    "limits": {"config": {"map": {"default": LIMITS, "whole": "version: v1\n"}}},
    "limits-evict": {"config": {"map": {"default": EVICT}}},
    "mps": {
        "config": {"map": {"default": TIME_SLICING, "steady": MPS}},
        "gfd": {"enabled": True, "labelOutput": "node"},
    },
    "fractions": {"fractions": {"enabled": True}},
    "metrics": {
        "metrics": {"enabled": True, "tls": {"secretName": "metrics-cert"}, "token": {"secretName": "scrape"}},
    },
    "web": {
        "web": {
            "enabled": True,
            "clusterName": "prod",
            "tls": {"secretName": "web-cert"},
            "token": {"secretName": "web-scrape"},
            "agentServerName": "agents",
            "viewers": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "platform"}],
        },
        "metrics": {"enabled": True, "tls": {"secretName": "metrics-cert"}, "token": {"secretName": "scrape"}},
    },
    "nvidia-names": {
        "compat": {"nvidiaNames": True},
        "config": {"map": {"default": TIME_SLICING, "whole": "version: v1\n"}},
    },
    "operator": {
        "compat": {"operatorNames": True},
        "clusterPolicy": {"installCRD": True, "create": True},
        # An operator's cluster has node feature discovery; `helm template` does not see it.
        "gfd": {"labelOutput": "nodefeature"},
    },
}

NAMESPACE = {"operator": "gpu-operator"}


def namespace(mode: str) -> str:
    return NAMESPACE.get(mode, "tranche")
