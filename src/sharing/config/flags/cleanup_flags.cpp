#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kCleanupFlags = std::to_array<FlagSpec>({
    {.name = "stay",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "clear this node and stay, so that --check can be asked",
     .uses = kUseCleanup},
    {.name = "check",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "for a probe: end with 0 if the one that stays here has cleared this node",
     .uses = kUseCleanup},
    {.name = "daemonset",
     .help = "change this DaemonSet, NAMESPACE/NAME, by --patch and wait until all "
             "its Pods are new and ready",
     .uses = kUseCleanup},
    {.name = "patch",
     .help = "strategic merge patch for --daemonset, as JSON",
     .uses = kUseCleanup},
    {.name = "force",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "also while claims are in use, whose Pods then stay Terminating",
     .uses = kUseCleanup},
    {.name = "timeout",
     .type = FlagType::kDuration,
     .default_text = "120s",
     .help = "how long to try before ending with an error; not with --stay",
     .uses = kUseCleanup},
});

}  // namespace

std::span<const FlagSpec> cleanup_flags() { return kCleanupFlags; }

}  // namespace tranche::config
