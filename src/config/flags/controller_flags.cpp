// Flags of `tranche controller`.

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
     .help = "ConfigMap that the agents follow (their --config-map): it is made to hold what the "
             "ClusterPolicy asks for (required, but with --evict-unregistered, --mig-changes or "
             "--mig-pools: empty follows no ClusterPolicy)",
     .uses = kUseController},
    {.name = "agents",
     .environment = kNames<"TRANCHE_AGENTS">,
     .help =
         "the agents' DaemonSet, in --namespace: a ClusterPolicy counts as applied while a node "
         "of it serves (a ready Pod, and no condition TrancheServing that says otherwise); empty: "
         "whether agents serve is not looked at",
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
     .help = "ConfigMap of --namespace whose key pools.yaml names MIG layouts for pools of nodes; "
             "their nodes get them one after the other; empty: there are none",
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
