#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kIncidentFlags = std::to_array<FlagSpec>({
    {.name = "file",
     .path = PathKind::kFile,
     .help = "show the incident of this file, which somebody sent; -: of standard input",
     .uses = kUseIncidentShow},
    {.name = "state-dir",
     .default_text = "/var/lib/tranche",
     .path = PathKind::kFolder,
     .help = "the agent's --state-dir: incidents with the names of Pods",
     .uses = kUseIncident},
    {.name = "arbiter-state-dir",
     .default_text = "/run/tranche-arbiter",
     .path = PathKind::kFolder,
     .help = "the arbiter's --state-dir: incidents that the agent has not named yet",
     .uses = kUseIncident},
});

}  // namespace

std::span<const FlagSpec> incident_flags() { return kIncidentFlags; }

}  // namespace tranche::config
