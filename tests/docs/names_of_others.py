"""Names that pages mention and that are neither ours nor in our sources, by owner, so that a
misspelt name of ours is not accepted. A flag counts only after its program."""

FLAGS = {
    "kubectl": {
        "--all", "--clusterrole", "--command", "--dry-run", "--duration", "--field-selector",
        "--for", "--force", "--format",
        "--grace-period", "--help", "--image", "--kubeconfig", "--overrides", "--overwrite",
        "--previous", "--restart", "--rm", "--serviceaccount", "--sort-by", "--tail", "--timeout",
        "--type",
    },
    "helm": {
        "--api-versions", "--create-namespace", "--namespace", "--no-hooks", "--reuse-values",
        "--set", "--set-file", "--show-only", "--timeout", "--wait",
    },
    "nvidia-smi": {"--format", "--get", "--gpu-reset", "--query-gpu", "--set-timeslice"},
    "nvidia-mig-parted": {"--hooks-file", "--skip-reset"},
    "nvidia-cuda-mps-control": {"--multiuser"},
    "cmake": {"--build", "--preset", "--target"},
    "sha256sum": {"--check"},
    "dpkg": {"--add-architecture"},
    "docker": {"--build-arg", "--platform"},
    "ctr": {"--all-platforms"},
    "az": {"--gpu-driver", "--gpu-instance-profile"},
    "eksctl": {"--install-nvidia-plugin"},
    "a flag": {"--flag"},  # the word itself, where a page shows how flags are written
}
PATHS = {
    "/home/kubernetes/bin/nvidia": "Google's driver installer",
    "/home/kubernetes/bin/nvidia/toolkit/nvidia-cdi-hook": "the GPU operator on Google's nodes",
    "/var/lib/google": "Google's nodes",
    "/var/lib/google/tranche": "Google's nodes",
    "/x86_64-bottlerocket-linux-gnu/sys-root": "Bottlerocket",
    "/tmp/kubernetes": "a folder of the reader's",
    "sys/devices/pci*/*/*": "the kernel's",
    "nlohmann/json.hpp": "a header of the library",
    "shared/server.log": "NVIDIA's log below an MPS resource called shared",
}
# Words before the slash of KIND/NAME in kubectl, quotas and Kubernetes' rights.
KINDS = {"pod", "deployment", "daemonset", "claim", "nodes", "count", "shop", "job"}
LABELS = {
    "gpu.nvidia.com/gpu-lost": "NVIDIA's DRA driver",
    "nvidia.com/cc.mode": "NVIDIA's confidential-computing manager",
    "nvidia.com/gpu-driver-upgrade-state": "the GPU operator",
    "nvidia.com/gpu.workload.config": "the GPU operator",
}
WORDS = {
    "ContainerCreating": "kubelet",
    "CrashLoopBackOff": "kubelet",
    "FailedPrepareDynamicResources": "kubelet",
    "NodeFeatureDiscovery": "the node feature discovery operator",
    "PascalCase": "a manner of writing",
    "MIG_MONITOR_DEVICES": "NVIDIA's container runtime",
    "WITH_REBOOT": "NVIDIA's MIG manager",
    "RTLD_DEEPBIND": "the C library",
    "DCGM_POD_RESOURCES_KUBELET_SOCKET": "dcgm-exporter",
    "KUBERNETES_VIRTUAL_GPUS": "dcgm-exporter",
    "DCGM_FI_DEV_FB_USED": "DCGM",
    "DCGM_FI_DEV_GPU_UTIL": "DCGM",
}
