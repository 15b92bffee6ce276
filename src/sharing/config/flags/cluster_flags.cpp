// Flags of the programs that talk to the API server.

#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kClusterFlags = std::to_array<FlagSpec>({
    {.name = "kubeconfig",
     .environment = kNames<"KUBECONFIG">,
     .path = PathKind::kFile,
     .help = "kubeconfig file; empty: the Pod's service account",
     .uses = kNode | kUseConfigManager | kUseCleanup | kUseController | kUseMpsControl},
    {.name = "kubeconfig",
     .environment = kNames<"KUBECONFIG">,
     .path = PathKind::kFile,
     .help = "kubeconfig file; empty: the files of $KUBECONFIG, ~/.kube/config, or in a Pod its "
             "service account",
     .uses =
         kUseLimit | kUseLayoutNode | kUseLint | kUseDoctor | kUseSnapshot | kUseTop | kUseReport},
    {.name = "context",
     .help = "context of the kubeconfig file; empty: its current-context",
     .uses = kNode | kUseConfigManager | kUseCleanup | kUseController | kUseMpsControl | kUseLimit |
             kUseLayoutNode | kUseLint | kUseDoctor | kUseSnapshot | kUseTop | kUseReport},
    {.name = "snapshot",
     .path = PathKind::kFile,
     .help = "answer from this file of 'tranche snapshot' instead of a cluster",
     .uses = kUseCluster},
    {.name = "namespace",
     .environment = kNames<"NAMESPACE">,
     .default_text = "default",
     .help = "namespace of this Pod, of the NodeFeature object, and of --config-map unless it says",
     .uses = kNode | kUseCleanup | kUseMpsControl},
    {.name = "node-name",
     .environment = kNames<"NODE_NAME">,
     .help = "this node's name in the cluster",
     .uses = kNode | kUseConfigManager | kUseCleanup | kUseMpsControl | kUseDoctor},
    {.name = "pod-name",
     .environment = kNames<"POD_NAME">,
     .help = "this Pod's name, to own the NodeFeature object",
     .uses = kNode},
    {.name = "pod-uid",
     .environment = kNames<"POD_UID">,
     .help = "this Pod's uid, so that two agents may serve claims at once while one hands over",
     .uses = kUseAgent},
});

}  // namespace

std::span<const FlagSpec> cluster_flags() { return kClusterFlags; }

}  // namespace tranche::config
