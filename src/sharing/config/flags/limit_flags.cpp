// Flags of `tranche limit`, verb by verb, and the output format.

#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr unsigned kOnePod = kUseLimitSet | kUseLimitGet | kUseLimitReset;

constexpr auto kLimitFlags = std::to_array<FlagSpec>({
    {.name = "namespace",
     .aliases = kNames<"n">,
     .help = "namespace of the Pod; empty: the context's, or default",
     .uses = kOnePod},
    {.name = "namespace",
     .aliases = kNames<"n">,
     .help = "show this namespace alone; empty: all",
     .uses = kUseLimitList},
    {.name = "container",
     .aliases = kNames<"c">,
     .help = "which container; empty: the only one that has GPUs",
     .uses = kUseLimitSet},
    {.name = "container",
     .aliases = kNames<"c">,
     .help = "which container; empty: all",
     .uses = kUseLimitGet | kUseLimitReset},
    {.name = "resource",
     .help =
         "which resource, nvidia.com/gpu.shared or short gpu.shared, or a claim by the Pod's name "
         "for it, claim/NAME or claim/NAME/REQUEST; empty: the only one of the container",
     .uses = kUseLimitSet},
    {.name = "resource",
     .help = "which resource, nvidia.com/gpu.shared or short gpu.shared, or claim/NAME, "
             "claim/NAME/REQUEST; empty: all",
     .uses = kUseLimitGet | kUseLimitReset},
    {.name = "memory",
     .help = "device memory of the container on each of its devices: a quantity (8Gi), a "
             "percentage of the device, or none",
     .uses = kUseLimitSet},
    {.name = "compute",
     .help = "its part of the device's time: a percentage, or none",
     .uses = kUseLimitSet},
    {.name = "class",
     .choices = kNames<"latency-critical", "normal", "best-effort">,
     .help =
         "latency-critical, normal or best-effort, where the configuration has policy: priority",
     .uses = kUseLimitSet},
    {.name = "timeout",
     .type = FlagType::kDuration,
     .default_text = "30s",
     .help = "how long to wait until the agent says that it holds",
     .uses = kUseLimitSet | kUseLimitReset},
});

constexpr auto kOutputFlags = std::to_array<FlagSpec>({
    {.name = "output",
     .aliases = kNames<"o">,
     .default_text = "table",
     .choices = kNames<"table", "json", "yaml">,
     .help = "table, json or yaml",
     .uses = kUseLimit | kUseLayoutList | kUseLint | kUseDoctor | kUseTop | kUseReport |
             kUseVersion | kUseIncident},
});

}  // namespace

std::span<const FlagSpec> limit_flags() { return kLimitFlags; }

std::span<const FlagSpec> output_flags() { return kOutputFlags; }

}  // namespace tranche::config
