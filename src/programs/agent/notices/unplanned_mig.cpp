#include "agent/notices/unplanned_mig.h"

#include "agent/config/mode_standing.h"
#include "cluster/formats/reasons.h"
#include "offer/unplanned_mig.h"

namespace tranche::agent {

Result<void> UnplannedMig::follow(const Round& round) {
  machine_ = round.state.machine;
  strategy_ = round.state.config.flags.mig_strategy;
  for_claims_ = round.state.get<NodeModeStanding>().mode == cluster::NodeMode::kDra;
  next_ = TimePoint::min();  // report at the next tick
  return {};
}

void UnplannedMig::tick(TimePoint now) {
  if (!machine_ || now < next_) return;
  next_ = now + kEach;
  const auto label = mig_config_ ? mig_config_() : std::string();
  if (!label) return;  // it is unknown whether a layout is named
  text_ = for_claims_ ? std::string()
                      : offer::unplanned_mig(*machine_, strategy_, offer::names_a_layout(*label));
  if (said_.is_news("mixture", text_)) log_.warn(text_);
  if (report_) report_(mig_planned_condition(text_));
}

ConditionReport mig_planned_condition(const std::string& text) {
  const bool planned = text.empty();
  return {.type = cluster::condition::kTrancheMigPlanned,
          .good = planned,
          .reason = planned ? cluster::reason::kMigPlanned : cluster::reason::kMigUnplanned,
          .message = planned ? "the GPUs are whole or in MIG instances as it is planned" : text,
          .action = "Advertise",
          .written_while_good = false};
}

}  // namespace tranche::agent
