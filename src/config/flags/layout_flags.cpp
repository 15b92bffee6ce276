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
});

}  // namespace

std::span<const FlagSpec> layout_flags() { return kLayoutFlags; }

}  // namespace tranche::config
