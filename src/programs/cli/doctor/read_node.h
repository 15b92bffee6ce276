#pragma once
// Reads what explain/node/node_checks.h judges, on the machine that this process runs on.

#include "config/flags/sources.h"
#include "config/programs/doctor_options.h"
#include "explain/node/node_checks.h"

namespace tranche::cli {

// Each question is bounded in time: the driver's calls and kubelet's answer by 5 s.
explain::NodeFacts read_node(const config::DoctorOptions& options, const config::Sources& sources);

}  // namespace tranche::cli
