// Flags of `tranche limit`.

#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kLimitFlags = std::to_array<FlagSpec>({
    {.name = "namespace",
     .aliases = kNames<"n">,
     .help = "namespace of the Pod; empty: the context's, or default (list: all)",
     .uses = kUseLimit},
    {.name = "container",
     .aliases = kNames<"c">,
     .help = "which container; empty: the only one that has GPUs (reset, get: all)",
     .uses = kUseLimit},
    {.name = "resource",
     .help =
         "which resource, nvidia.com/gpu.shared or short gpu.shared; empty: the only one of the "
         "container (reset, get: all)",
     .uses = kUseLimit},
    {.name = "memory",
     .help = "set: device memory of the container on each of its devices: a quantity (8Gi), a "
             "percentage of the device, or none",
     .uses = kUseLimit},
    {.name = "compute",
     .help = "set: its part of the device's time: a percentage, or none",
     .uses = kUseLimit},
    {.name = "class",
     .choices = kNames<"latency-critical", "normal", "best-effort">,
     .help = "set: latency-critical, normal or best-effort, where the configuration has policy: "
             "priority",
     .uses = kUseLimit},
    {.name = "timeout",
     .type = FlagType::kDuration,
     .default_text = "30s",
     .help = "set, reset: how long to wait until the agent says that it holds",
     .uses = kUseLimit},
    {.name = "output",
     .aliases = kNames<"o">,
     .default_text = "table",
     .choices = kNames<"table", "json", "yaml">,
     .help = "table, json or yaml",
     .uses = kUseLimit},
});

}  // namespace

std::span<const FlagSpec> limit_flags() { return kLimitFlags; }

}  // namespace tranche::config
