// Flags of `tranche layout`, word by word.

#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kLayoutFlags = std::to_array<FlagSpec>({
    {.name = "model",
     .help = "which GPU model: a key such as a100-80gb, or NVML's product name; empty: list the "
             "models",
     .uses = kUseLayoutList},
    {.name = "model",
     .help = "which GPU model: a key such as a100-80gb, or NVML's product name ('tranche layout "
             "list' lists them)",
     .uses = kUseLayoutValidate},
    {.name = "config-file",
     .aliases = kNames<"f">,
     .environment = kNames<"MIG_PARTED_CONFIG_FILE">,
     .path = PathKind::kFile,
     .help =
         "a file of NVIDIA's mig-parted, version v1; -: standard input; empty: the layouts that "
         "'tranche layout defaults' prints",
     .uses = kUseLayoutFile},
    {.name = "selected-config",
     .aliases = kNames<"c">,
     .environment = kNames<"MIG_PARTED_SELECTED_CONFIG">,
     .help = "which layout of the file; empty: the only one",
     .uses = kUseLayoutFile},
    {.name = "mode-only",
     .aliases = kNames<"m">,
     .environment = kNames<"MIG_PARTED_MODE_CHANGE_ONLY">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "the MIG mode alone, whatever instances there are",
     .uses = kUseLayoutFile},
    {.name = "valid-config",
     .aliases = kNames<"a">,
     .environment = kNames<"MIG_PARTED_VALID_CONFIG">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "only that the file is valid and has the layout; no GPU is asked",
     .uses = kUseLayoutAssert},
    {.name = "dry-run",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "say what would be done, and do nothing",
     .uses = kUseLayoutApply},
    {.name = "yes",
     .aliases = kNames<"y">,
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "do not ask; without a terminal nothing is asked anyway",
     .uses = kUseLayoutApply},
    {.name = "force",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "also where an agent manages the layouts of this machine",
     .uses = kUseLayoutApply},
    {.name = "state-dir",
     .environment = kNames<"TRANCHE_STATE_DIR">,
     .default_text = "/var/lib/tranche",
     .path = PathKind::kFolder,
     .help = "where a change that is under way is noted, so that the next call finishes or undoes "
             "it",
     .uses = kUseLayoutApply},
    {.name = "config-label",
     .aliases = kNames<"l">,
     .environment = kNames<"MIG_PARTED_CONFIG_LABEL">,
     .default_text = "current",
     .help = "how the layout is called in the file that is printed",
     .uses = kUseLayoutExport},
    {.name = "output",
     .aliases = kNames<"o", "output-format">,
     .environment = kNames<"MIG_PARTED_OUTPUT_FORMAT">,
     .default_text = "yaml",
     .choices = kNames<"yaml", "json">,
     .help = "yaml or json",
     .uses = kUseLayoutExport | kUseLayoutDefaults},
    {.name = "host-root",
     .environment = kNames<"TRANCHE_HOST_ROOT">,
     .default_text = "/",
     .path = PathKind::kFolder,
     .help = "file-system root under which /sys, /proc and /dev are read",
     .uses = kUseLayoutMachine},
});

}  // namespace

std::span<const FlagSpec> layout_flags() { return kLayoutFlags; }

}  // namespace tranche::config
