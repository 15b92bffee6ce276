#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kSnapshotFlags = std::to_array<FlagSpec>({
    {.name = "output",
     .aliases = kNames<"o">,
     .path = PathKind::kFile,
     .help = "write it to this file, for its owner alone; empty or -: standard output",
     .uses = kUseSnapshot},
    {.name = "snapshot",
     .path = PathKind::kFile,
     .help = "with --anonymize: of this file instead of a cluster",
     .uses = kUseSnapshot},
    {.name = "anonymize",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "replace names, addresses and UUIDs, the same one by the same everywhere",
     .uses = kUseSnapshot},
    {.name = "config-map",
     .type = FlagType::kStringList,
     .help = "further ConfigMaps with configurations, NAMESPACE/NAME; those that agents follow are "
             "taken anyway",
     .uses = kUseSnapshot},
    {.name = "operator-namespace",
     .default_text = "gpu-operator",
     .help = "namespace of the ConfigMaps that a ClusterPolicy names",
     .uses = kUseSnapshot},
});

}  // namespace

std::span<const FlagSpec> snapshot_flags() { return kSnapshotFlags; }

}  // namespace tranche::config
