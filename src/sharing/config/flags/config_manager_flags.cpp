#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kConfigManagerFlags = std::to_array<FlagSpec>({
    {.name = "oneshot",
     .environment = kNames<"ONESHOT">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "choose the configuration once and end",
     .uses = kUseConfigManager},
    {.name = "node-label",
     .environment = kNames<"NODE_LABEL">,
     .default_text = "nvidia.com/device-plugin.config",
     .help = "node label that names the configuration",
     .uses = kUseConfigManager},
    {.name = "config-file-srcdir",
     .environment = kNames<"CONFIG_FILE_SRCDIR">,
     .path = PathKind::kFolder,
     .help = "folder of the configurations to choose from (required)",
     .uses = kUseConfigManager},
    {.name = "config-file-dst",
     .environment = kNames<"CONFIG_FILE_DST">,
     .path = PathKind::kFile,
     .help = "link that is made to point at the chosen configuration (required)",
     .uses = kUseConfigManager},
    {.name = "default-config",
     .environment = kNames<"DEFAULT_CONFIG">,
     .help = "configuration of a node without the label",
     .uses = kUseConfigManager},
    {.name = "fallback-strategies",
     .environment = kNames<"FALLBACK_STRATEGIES">,
     .type = FlagType::kStringList,
     .choices = kNames<"named", "single", "empty">,
     .help = "what to try without label and default: named, single, empty, in order",
     .uses = kUseConfigManager},
    {.name = "send-signal",
     .environment = kNames<"SEND_SIGNAL">,
     .type = FlagType::kBool,
     .default_text = "true",
     .help = "signal a process after a change",
     .uses = kUseConfigManager},
    {.name = "signal",
     .environment = kNames<"SIGNAL">,
     .type = FlagType::kInt,
     .default_text = "1",
     .help = "which signal",
     .uses = kUseConfigManager},
    {.name = "process-to-signal",
     .environment = kNames<"PROCESS_TO_SIGNAL">,
     .default_text = "nvidia-device-plugin",
     .help = "argv[0] of the process to signal",
     .uses = kUseConfigManager},
});

}  // namespace

std::span<const FlagSpec> config_manager_flags() { return kConfigManagerFlags; }

}  // namespace tranche::config
