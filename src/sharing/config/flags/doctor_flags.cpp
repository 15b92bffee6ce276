#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kDoctorFlags = std::to_array<FlagSpec>({
    {.name = "node",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "look at this node, as the agent's container sees it: run it there",
     .uses = kUseDoctor},
});

}  // namespace

std::span<const FlagSpec> doctor_flags() { return kDoctorFlags; }

}  // namespace tranche::config
