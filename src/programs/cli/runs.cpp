#include "cli/runs.h"

#include <algorithm>
#include <array>

#include "cli/doctor/doctor.h"
#include "cli/incident/incident.h"
#include "cli/layout/layout.h"
#include "cli/limit/limit.h"
#include "cli/lint/lint.h"
#include "cli/report/report.h"
#include "cli/snapshot/snapshot.h"

namespace tranche::cli {
namespace {

struct RunOf {
  std::string_view name;
  Run run;
};
// Of commands and parts.
constexpr std::array kRuns = {
    RunOf{"agent", run_agent_command},
    RunOf{"arbiter", run_arbiter_command},
    RunOf{"mps-control-daemon", run_mps_control_command},
    RunOf{"labels", run_labels_command},
    RunOf{"controller", run_controller_command},
    RunOf{"layout", run_layout_command},
    RunOf{"incident", run_incident_command},
    RunOf{"lint", run_lint_command},
    RunOf{"doctor", run_doctor_command},
    RunOf{"snapshot", run_snapshot_command},
    RunOf{"top", run_top_command},
    RunOf{"report", run_report_command},
    RunOf{"limit", run_limit_command},
    RunOf{"cleanup", run_cleanup_command},
    RunOf{"completion", run_completion_command},
    RunOf{"version", run_version_command},
    RunOf{"reference", run_reference_command},
    RunOf{"nvidia-device-plugin", run_agent_command},
    RunOf{"gpu-feature-discovery", run_labels_command},
    RunOf{"config-manager", run_config_manager_command},
};

}  // namespace

Run run_of(const Command& command) {
  const auto* found = std::ranges::find(kRuns, command.name, &RunOf::name);
  return found == kRuns.end() ? nullptr : found->run;
}

}  // namespace tranche::cli
