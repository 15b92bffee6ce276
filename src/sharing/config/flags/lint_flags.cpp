#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kLintFlags = std::to_array<FlagSpec>({
    {.name = "fix-to",
     .path = PathKind::kFolder,
     .help = "write each corrected file into this folder, by its name; empty: print them",
     .uses = kUseLint},
    {.name = "strict",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "warnings are findings too: end with 1",
     .uses = kUseLint},
    {.name = "cluster",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "compare with the cluster that kubectl talks to: its ResourceSlices, DeviceClasses "
             "and Nodes; --kubeconfig and --context imply it",
     .uses = kUseLint},
});

}  // namespace

std::span<const FlagSpec> lint_flags() { return kLintFlags; }

}  // namespace tranche::config
