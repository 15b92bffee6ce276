#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kReportFlags = std::to_array<FlagSpec>({
    {.name = "fleet",
     .path = PathKind::kFile,
     .help = "of this file instead of a cluster: fleet/v1, as -o json prints it and the "
             "controller serves it; - is standard input",
     .uses = kUseReport},
    {.name = "service",
     .help = "Service of the controller, NAMESPACE/[SCHEME:]NAME[:PORT], which also knows what "
             "containers use: tranche/tranche-controller-web:web; empty: what the cluster's "
             "objects tell",
     .uses = kUseReport},
    {.name = "html",
     .path = PathKind::kFile,
     .help = "write the cluster's page into this one file instead, for its owner alone",
     .uses = kUseReport},
    {.name = "near",
     .type = FlagType::kInt,
     .default_text = "90",
     .help = "percent of its memory's limit from which a container is near it",
     .uses = kUseReport},
});

}  // namespace

std::span<const FlagSpec> report_flags() { return kReportFlags; }

}  // namespace tranche::config
