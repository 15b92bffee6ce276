#include "agent/mps/mps_opener.h"

#include <algorithm>

#include "mps/open_file.h"

namespace tranche::agent {
namespace {

bool holds_one(const std::vector<offer::Promise>& promises, const std::set<std::string>& gpus) {
  return std::ranges::any_of(
      promises, [&](const offer::Promise& promise) { return gpus.contains(promise.gpu_uuid); });
}

bool has_claims(const ClaimStanding& claims, const std::set<std::string>& gpus) {
  return std::ranges::any_of(gpus,
                             [&](const std::string& gpu) { return claims.held.contains(gpu); });
}

bool is_to_open(const State& state, const MpsStanding& mps, bool open) {
  const auto& claims = state.claims;
  if (claims.undecided || !claims.known) return open;
  if (claims.mode == cluster::NodeMode::kDevicePlugin) return open && has_claims(claims, mps.gpus);
  return open || !holds_one(state.promises.at_odds, mps.gpus);
}

}  // namespace

std::set<std::string> resources_to_open(const State& state, const std::set<std::string>& before) {
  std::set<std::string> open;
  for (const auto& [name, mps] : state.mps) {
    if (is_to_open(state, mps, before.contains(name.value))) open.insert(name.value);
  }
  return open;
}

Result<void> MpsOpener::write(const State& state) const {
  ASSIGN_OR_RETURN(const auto before, mps::read_open(root_));
  return mps::write_open(root_, resources_to_open(state, before));
}

Result<void> MpsOpener::follow(const Round& round) {
  if (resting_) return {};
  const auto written = write(round.state);
  if (written) {
    said_.forget("file");
  } else if (said_.is_news("file", written.error().what)) {
    log_.error(Error(written.error())
                   .with_context("the MPS control daemons cannot be told whether claims get their "
                                 "GPUs, so these are not given out"));
  }
  return {};
}

}  // namespace tranche::agent
