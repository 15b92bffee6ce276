#include "agent/mps/mps_rules.h"

#include <fmt/format.h>

#include "cluster/formats/reasons.h"
#include "mps/plan.h"

namespace tranche::agent {

config::MpsControlRules MpsRules::settle(const config::MpsControlRules& wanted,
                                         const gpu::Machine& machine, const offer::Offer& offer) {
  if (wanted == config::MpsControlRules() || mps::make_plan(machine, offer).empty()) return {};
  const auto capability = ask_version();
  if (!capability) return {};
  auto settled = mps::settle(wanted, *capability);
  for (const auto& line : settled.fallbacks) fall_back(line);
  if (std::holds_alternative<std::monostate>(settled.rules.sm_partitions)) return settled.rules;
  for (const auto& resource : offer.resources) {
    if (resource.sharing != config::SharingStrategy::kMps) continue;
    const auto line = mps::partitions_objection(machine, resource);
    if (!line.empty()) fall_back(line);
  }
  return settled.rules;
}

void MpsRules::say_open(const config::MpsControlRules& rules, const mps::Plan& plan) {
  if (std::holds_alternative<std::monostate>(rules.sm_partitions)) return;
  for (const auto& daemon : plan) {
    if (!daemon.open) continue;
    fall_back(fmt::format(
        "tranche.mps.smPartitions: not for claims, which have shares of any size; while claims get "
        "the GPUs of {}, its clients are limited by percentages",
        daemon.resource.value));
  }
}

std::optional<mps::Capability> MpsRules::ask_version() {
  if (capability_) return capability_;
  const auto version = tools_.control({"-v"}, {}, "");
  is_open_ = !version;
  if (version) {
    capability_ = mps::read_version(version->output);
    tools_.log.info(fmt::format("nvidia-cuda-mps-control {}", mps::describe(*capability_)));
  }
  return capability_;
}

void MpsRules::fall_back(const std::string& line) {
  if (!said_.insert(line).second) return;
  tools_.log.warn(line);
  tell_({.warning = true,
         .reason = cluster::reason::kMpsFallback,
         .action = "Supervise",
         .note = line});
}

}  // namespace tranche::agent
