#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kControllerFlags = std::to_array<FlagSpec>({
    {.name = "namespace",
     .environment = kNames<"NAMESPACE">,
     .help = "namespace of this release: of the Lease, of --config-map-out, and of the ConfigMaps "
             "that a ClusterPolicy names (required)",
     .uses = kUseController},
    {.name = "config-map-out",
     .environment = kNames<"CONFIG_MAP_OUT">,
     .help = "ConfigMap that the agents follow, made to hold what the ClusterPolicy "
             "asks for (required, but with --evict-unregistered, --mig-changes, "
             "--mig-pools, --fractions or --web-address: empty follows no ClusterPolicy)",
     .uses = kUseController},
    {.name = "agents",
     .environment = kNames<"TRANCHE_AGENTS">,
     .help = "the agents' DaemonSet, in --namespace: a ClusterPolicy counts as "
             "applied while a node of it serves; empty: always",
     .uses = kUseController},
    {.name = "evict-unregistered",
     .environment = kNames<"TRANCHE_EVICT_UNREGISTERED">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "evict the Pods that agents ask to be evicted (their --ask-evictions)",
     .uses = kUseController},
    {.name = "mig-changes",
     .environment = kNames<"TRANCHE_MIG_CHANGES">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "drain nodes whose agents change the MIG layout (their --mig-manager): cordon, evict, "
             "uncordon",
     .uses = kUseController},
    {.name = "mig-pools",
     .environment = kNames<"TRANCHE_MIG_POOLS">,
     .help = "ConfigMap of --namespace whose key pools.yaml names MIG layouts for "
             "pools of nodes",
     .uses = kUseController},
    {.name = "fractions",
     .environment = kNames<"TRANCHE_FRACTIONS">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "serve the admission webhook that turns fractions of nvidia.com/gpu "
             "into claims",
     .uses = kUseController},
    {.name = "fractions-models",
     .environment = kNames<"TRANCHE_FRACTIONS_MODELS">,
     .type = FlagType::kStringList,
     .help = "models of GPUs that an autoscaler will add, with the Mi that the "
             "shares of one may have together: \"NVIDIA L20=45476,Tesla T4=14917\"; "
             "fractions are claims before there is such a node",
     .uses = kUseController},
    {.name = "fractions-quota",
     .environment = kNames<"TRANCHE_FRACTIONS_QUOTA">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "count shares of GPUs against each namespace's ResourceQuota of "
             "requests.nvidia.com/gpu, by a second webhook for ResourceClaims (with --fractions)",
     .uses = kUseController},
    {.name = "fractions-quota-classes",
     .environment = kNames<"TRANCHE_FRACTIONS_QUOTA_CLASSES">,
     .type = FlagType::kStringList,
     .default_text = "gpu-share",
     .help = "DeviceClasses whose claims --fractions-quota counts; of those that Kubernetes serves "
             "by the name nvidia.com/gpu it counts the claims itself",
     .uses = kUseController},
    {.name = "webhook-listen",
     .environment = kNames<"TRANCHE_WEBHOOK_LISTEN">,
     .default_text = ":8443",
     .help = "address and port of the webhook; without an address all of them, with port 0 any "
             "that is free",
     .uses = kUseController},
    {.name = "webhook-hosts",
     .environment = kNames<"TRANCHE_WEBHOOK_HOSTS">,
     .type = FlagType::kStringList,
     .help = "DNS names and addresses by which API servers call the webhook, for its certificate: "
             "SERVICE.NAMESPACE.svc (required with --fractions)",
     .uses = kUseController},
    {.name = "webhook-secret",
     .environment = kNames<"TRANCHE_WEBHOOK_SECRET">,
     .default_text = "tranche-webhook",
     .help = "Secret of --namespace that keeps the webhook's certificates; it must be there, and "
             "may be empty",
     .uses = kUseController},
    {.name = "webhook-configuration",
     .environment = kNames<"TRANCHE_WEBHOOK_CONFIGURATION">,
     .default_text = "tranche-webhook",
     .help = "MutatingWebhookConfiguration whose caBundle the controller writes; with "
             "--fractions-quota also the ValidatingWebhookConfiguration of that name",
     .uses = kUseController},
    {.name = "webhook-certificate-life",
     .environment = kNames<"TRANCHE_WEBHOOK_CERTIFICATE_LIFE">,
     .type = FlagType::kDuration,
     .default_text = "2160h",
     .help = "how long a certificate of the webhook is valid; it is replaced after "
             "two thirds, and its authority lives four times as long",
     .uses = kUseController},
    {.name = "web-address",
     .environment = kNames<"TRANCHE_WEB_ADDRESS">,
     .help = "address and port of the cluster's page, of /v1/fleet and of the cluster's /metrics, "
             "such as :9401 (with port 0: any that is free); empty: nowhere",
     .uses = kUseController},
    {.name = "web-tls-dir",
     .environment = kNames<"TRANCHE_WEB_TLS_DIR">,
     .path = PathKind::kFolder,
     .help = "folder of the certificate tls.crt and the key tls.key, which are read again when "
             "they change; empty: --web-address is served without TLS",
     .uses = kUseController},
    {.name = "web-token-file",
     .environment = kNames<"TRANCHE_WEB_TOKEN_FILE">,
     .path = PathKind::kFile,
     .help = "file of the bearer token that readers of the cluster's /metrics must have, which is "
             "read again when it changes; empty: anybody may read them",
     .uses = kUseController},
    {.name = "cluster-name",
     .environment = kNames<"TRANCHE_CLUSTER_NAME">,
     .help = "what the cluster's page is called",
     .uses = kUseController},
    {.name = "agent-selector",
     .environment = kNames<"TRANCHE_AGENT_SELECTOR">,
     .help = "labels of the agents' Pods in --namespace, whose /usage is read for the cluster's "
             "page, such as app.kubernetes.io/component=agent; empty: none is asked",
     .uses = kUseController},
    {.name = "agent-port",
     .environment = kNames<"TRANCHE_AGENT_PORT">,
     .type = FlagType::kInt,
     .default_text = "9400",
     .help = "port of the agents' metrics (their --metrics-address)",
     .uses = kUseController},
    {.name = "agent-ca-file",
     .environment = kNames<"TRANCHE_AGENT_CA_FILE">,
     .path = PathKind::kFile,
     .help = "authorities of the agents' certificates (their --metrics-tls-dir); empty: agents "
             "are asked without TLS",
     .uses = kUseController},
    {.name = "agent-server-name",
     .environment = kNames<"TRANCHE_AGENT_SERVER_NAME">,
     .help = "name in the agents' certificates; empty: the address of the Pod",
     .uses = kUseController},
    {.name = "agent-token-file",
     .environment = kNames<"TRANCHE_AGENT_TOKEN_FILE">,
     .path = PathKind::kFile,
     .help = "file of the bearer token for the agents' metrics (their --metrics-token-file)",
     .uses = kUseController},
    {.name = "leader-elect",
     .environment = kNames<"LEADER_ELECT">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "write only while holding the Lease tranche-controller, so that several may run",
     .uses = kUseController},
    {.name = "pod-name",
     .environment = kNames<"POD_NAME">,
     .help = "this Pod's name, to hold the Lease by; empty: the host's name and something random",
     .uses = kUseController},
});

}  // namespace

std::span<const FlagSpec> controller_flags() { return kControllerFlags; }

}  // namespace tranche::config
