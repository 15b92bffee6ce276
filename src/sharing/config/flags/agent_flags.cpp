// Our own flags of the agent, and of the programs that share them.

#include "base/dra_driver.h"
#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kAgentFlags = std::to_array<FlagSpec>({
    {.name = "config-name",
     .environment = kNames<"TRANCHE_CONFIG_NAME">,
     .help = "which file to take when --config-file is a folder; empty: default, else the only one",
     .uses = kNode | kUseCleanup | kUseMpsControl},
    {.name = "config-map",
     .environment = kNames<"CONFIG_MAP">,
     .help = "take the configuration from this ConfigMap, [NAMESPACE/]NAME, the key "
             "chosen by --node-label",
     .uses = kUseAgent | kUseCleanup | kUseMpsControl},
    {.name = "node-label",
     .environment = kNames<"NODE_LABEL">,
     .default_text = "nvidia.com/device-plugin.config",
     .help = "node label that names the configuration: a key of --config-map or, when this flag is "
             "given, a file of the folder --config-file",
     .uses = kUseAgent | kUseCleanup | kUseMpsControl},
    {.name = "default-config",
     .environment = kNames<"DEFAULT_CONFIG">,
     .help = "configuration of a node without that label",
     .uses = kUseAgent | kUseMpsControl},
    {.name = "fallback-strategies",
     .environment = kNames<"FALLBACK_STRATEGIES">,
     .type = FlagType::kStringList,
     .default_text = "named,single",
     .choices = kNames<"named", "single", "empty">,
     .help = "what to try without label and default: named (the one called default), single (the "
             "only one), empty (no sharing), in order",
     .uses = kUseAgent | kUseMpsControl},
    {.name = "label-output",
     .environment = kNames<"LABEL_OUTPUT">,
     .default_text = "auto",
     .choices = kNames<"auto", "file", "nodefeature", "node">,
     .help = "where feature labels go: file (--output-file), nodefeature (an "
             "object), node (the Node itself), or auto (nodefeature when "
             "--use-node-feature-api is set, else file)",
     .uses = kUseAgent | kUseCleanup},
    {.name = "check",
     .choices = kNames<"live", "ready">,
     .help = "for a probe: ask the agent that runs here whether it is live or ready, and end with "
             "0 if so"},
    {.name = "strict-config",
     .environment = kNames<"TRANCHE_STRICT_CONFIG">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "refuse unknown and duplicate keys in the configuration instead of warning",
     .uses = kNode | kUseMpsControl},
    {.name = "trusted-folders",
     .environment = kNames<"TRANCHE_TRUSTED_FOLDERS">,
     .type = FlagType::kStringList,
     .default_text = "/usr/bin,/usr/local/nvidia,/opt/nvidia,/run/nvidia/driver",
     .help = "folders on the host, written by its root alone, in which the programs, "
             "roots and files of a configuration may lie; flags and environment are "
             "free",
     .uses = kNode | kUseCleanup | kUseMpsControl},
    {.name = "kubelet-root",
     .environment = kNames<"TRANCHE_KUBELET_ROOT">,
     .default_text = "/var/lib/kubelet",
     .path = PathKind::kFolder,
     .help = "kubelet's folder; moves the sockets and, unless it is given, --kubelet-socket",
     .uses = kUseAgent | kUseCleanup | kUseDoctor},
    {.name = "take-over",
     .environment = kNames<"TRANCHE_TAKE_OVER">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "take a resource's socket even when another device plugin answers on it"},
    {.name = "labels",
     .environment = kNames<"TRANCHE_LABELS">,
     .default_text = "auto",
     .choices = kNames<"auto", "on", "off">,
     .help = "write feature labels: on, off, or auto (when the folder of --output-file exists and "
             "nobody else writes there)",
     .uses = kUseAgent | kUseCleanup},
    {.name = "state-dir",
     .environment = kNames<"TRANCHE_STATE_DIR">,
     .default_text = "/var/lib/tranche",
     .path = PathKind::kFolder,
     .help = "where grants are kept, and what containers with limits mount: an absolute path, the "
             "same on the host",
     .uses = kUseAgent | kUseCleanup | kUseDoctor},
    {.name = "release",
     .environment = kNames<"TRANCHE_RELEASE">,
     .help = "the release that this agent belongs to, NAMESPACE/NAME; no other "
             "release's agent serves the node, and its cleanup clears nothing of "
             "another's",
     .uses = kUseAgent | kUseCleanup},
    {.name = "limit-library",
     .environment = kNames<"TRANCHE_LIMIT_LIBRARY">,
     .path = PathKind::kFile,
     .path_word = "none",
     .help = "libtranche-limit.so, which containers with limits are given; empty: "
             "the one in ../lib; none: no arbiter runs here, so nothing that has "
             "limits is offered"},
    {.name = "arbiter-state-dir",
     .environment = kNames<"TRANCHE_ARBITER_STATE_DIR">,
     .path = PathKind::kFolder,
     .help = "the arbiter's --state-dir: what it finds becomes Events; empty: it is "
             "in the arbiter's log alone",
     .uses = kUseAgent | kUseDoctor},
    {.name = "ask-evictions",
     .environment = kNames<"TRANCHE_ASK_EVICTIONS">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "a controller runs with --evict-unregistered: ask it to evict Pods "
             "where the configuration says unregistered: evict"},
    {.name = "host-root",
     .environment = kNames<"TRANCHE_HOST_ROOT">,
     .default_text = "/",
     .path = PathKind::kFolder,
     .help = "file-system root under which /sys, /proc and /dev are read",
     .uses = kNode | kUseArbiter | kUseMpsControl | kUseDoctor},
    {.name = "mps-dir",
     .environment = kNames<"TRANCHE_MPS_DIR">,
     .default_text = "/mps",
     .path = PathKind::kFolder,
     .help = "where the folder of the MPS daemons (--mps-root on the host) is mounted here",
     .uses = kUseAgent | kUseMpsControl | kUseArbiter},
    {.name = "cdi-root",
     .environment = kNames<"TRANCHE_CDI_ROOT">,
     .default_text = "/var/run/cdi",
     .path = PathKind::kFolder,
     .help = "folder for CDI specs",
     .uses = kUseAgent | kUseCleanup},
    {.name = "health-recovery",
     .environment = kNames<"TRANCHE_HEALTH_RECOVERY">,
     .default_text = "5m",
     .help = "how long a device must be quiet after a fault to count as healthy again, or never"},
    {.name = "machine-interval",
     .environment = kNames<"TRANCHE_MACHINE_INTERVAL">,
     .type = FlagType::kDuration,
     .default_text = "10s",
     .help = "time between two readings of the hardware",
     .uses = kUseAgent | kUseMpsControl},
    {.name = "grants-interval",
     .environment = kNames<"TRANCHE_GRANTS_INTERVAL">,
     .type = FlagType::kDuration,
     .default_text = "30s",
     .help = "time between two rounds that drop grants which nobody holds any more, "
             "and write those that the disk refused; a grant goes when two rounds "
             "agree"},
    {.name = "mig-manager",
     .environment = kNames<"MIG_MANAGER", "TRANCHE_MIG_MANAGER">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "change the MIG layout of this node's GPUs to the one that the Node's label "
             "nvidia.com/mig.config names; needs root and the API server"},
    {.name = "mig-config-file",
     .environment = kNames<"MIG_CONFIG_FILE", "TRANCHE_MIG_CONFIG_FILE">,
     .path = PathKind::kFile,
     .help = "layouts for --mig-manager, a file of nvidia-mig-parted (v1); what it "
             "lacks are the default layouts of this machine (all-balanced, ...)"},
    {.name = "mig-drain-timeout",
     .environment = kNames<"MIG_DRAIN_TIMEOUT", "TRANCHE_MIG_DRAIN_TIMEOUT">,
     .type = FlagType::kDuration,
     .default_text = "5m",
     .help = "how long Pods that hold what leaves service have to end before a MIG "
             "change is given up"},
    {.name = "mig-ask-controller",
     .environment = kNames<"MIG_ASK_CONTROLLER", "TRANCHE_MIG_ASK_CONTROLLER">,
     .type = FlagType::kBool,
     .default_text = "true",
     .help = "wait a minute for a controller, which cordons the node and evicts "
             "Pods; false: change a MIG layout at once where nobody holds what "
             "leaves service, else refuse it"},
    {.name = "dra",
     .environment = kNames<"TRANCHE_DRA">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help =
         "serve resource claims (DRA) where the Node's label tranche.dev/mode is dra; needs the "
         "API server, Kubernetes 1.34 or later"},
    {.name = "dra-driver-name",
     .environment = kNames<"TRANCHE_DRA_DRIVER_NAME">,
     .default_text = kDefaultDraDriver,
     .help = "the DRA driver's name, the same for agents and controller; "
             "DeviceClasses and claims name it",
     .uses = kUseAgent | kUseController},
    {.name = "dra-evict-after",
     .environment = kNames<"TRANCHE_DRA_EVICT_AFTER">,
     .default_text = "never",
     .help = "how long a device is unhealthy until Pods with a claim on it are "
             "evicted (taint NoExecute), or never"},
    {.name = "dra-dynamic-mig",
     .environment = kNames<"TRANCHE_DRA_DYNAMIC_MIG">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "make MIG instances for claims and remove them after (with --dra); "
             "needs root"},
    {.name = "gpu-node",
     .environment = kNames<"TRANCHE_GPU_NODE">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "write what this agent knows of the node's GPUs, and who holds them, into the GPUNode "
             "of the node's name; needs the API server",
     .uses = kUseAgent | kUseCleanup},
    {.name = "metrics-address",
     .environment = kNames<"TRANCHE_METRICS_ADDRESS">,
     .help = "address and port at which /metrics is served, such as :9400 (with port 0: any that "
             "is free); empty: nowhere",
     .uses = kUseAgent | kUseDoctor},
    {.name = "metrics-names",
     .environment = kNames<"TRANCHE_METRICS_NAMES">,
     .default_text = "both",
     .choices = kNames<"both", "4.8", "4.9">,
     .help = "whose names and units the metrics of GPUs have: dcgm-exporter's up to 4.8, those "
             "since 4.9, or both"},
    {.name = "metrics-tls-dir",
     .environment = kNames<"TRANCHE_METRICS_TLS_DIR">,
     .path = PathKind::kFolder,
     .help =
         "folder of the certificate tls.crt and the key tls.key, which are read again when they "
         "change; empty: /metrics is served without TLS"},
    {.name = "metrics-token-file",
     .environment = kNames<"TRANCHE_METRICS_TOKEN_FILE">,
     .path = PathKind::kFile,
     .help =
         "file of the bearer token that readers of /metrics must have, which is read again when "
         "it changes; empty: anybody may read them"},
    {.name = "pod-resources-socket",
     .environment = kNames<"TRANCHE_POD_RESOURCES_SOCKET">,
     .path = PathKind::kFile,
     .help = "a socket on which kubelet's pod-resources are served with GPUs by their UUIDs in "
             "place of replicas and claims, for NVIDIA's dcgm-exporter; empty: none"},
    {.name = "kubelet-plugins-directory-path",
     .environment = kNames<"KUBELET_PLUGINS_DIRECTORY_PATH">,
     .path = PathKind::kFolder,
     .help = "kubelet's folder of DRA drivers, at the same path as on the host; empty: "
             "<kubelet-root>/plugins"},
    {.name = "kubelet-registrar-directory-path",
     .environment = kNames<"KUBELET_REGISTRAR_DIRECTORY_PATH">,
     .path = PathKind::kFolder,
     .help = "the folder in which kubelet finds drivers, at the same path as on the host; empty: "
             "<kubelet-root>/plugins_registry"},
    {.name = "log-level",
     .environment = kNames<"TRANCHE_LOG_LEVEL">,
     .default_text = "info",
     .choices = kNames<"debug", "info", "warn", "error">,
     .help = "debug, info, warn or error",
     .uses =
         kNode | kUseConfigManager | kUseCleanup | kUseController | kUseArbiter | kUseMpsControl},
});

}  // namespace

std::span<const FlagSpec> agent_flags() { return kAgentFlags; }

}  // namespace tranche::config
