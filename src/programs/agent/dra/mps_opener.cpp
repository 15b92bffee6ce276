#include "agent/dra/mps_opener.h"

#include <algorithm>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_standing.h"
#include "agent/mps/mps_standing.h"
#include "agent/withholding/held_standing.h"
#include "mps/open_file.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kAgain{5};
constexpr const char* kNotWritten =
    "the MPS control daemons cannot be told whether claims get their GPUs, so these are not given "
    "out";

bool holds_one(const std::vector<holdings::Holding>& held, const std::set<std::string>& gpus) {
  return std::ranges::any_of(held,
                             [&](const holdings::Holding& one) { return gpus.contains(one.gpu); });
}

bool is_to_open(const State& state, const MpsStanding& mps, bool open) {
  const auto& node = state.get<NodeModeStanding>();
  const auto& claimed = state.get<ClaimStanding>().held;
  if (node.undecided || !claimed) return open;
  const bool by_plugin = node.mode == cluster::NodeMode::kDevicePlugin;
  return by_plugin ? open && holds_one(*claimed, mps.gpus)
                   : open || !holds_one(state.get<HeldStanding>().at_odds, mps.gpus);
}

}  // namespace

std::set<std::string> resources_to_open(const State& state, const std::set<std::string>& before) {
  std::set<std::string> open;
  for (const auto& [name, mps] : state.get<MpsStandings>()) {
    if (is_to_open(state, mps, before.contains(name.value))) open.insert(name.value);
  }
  return open;
}

// Grants since the holdings were read count, too.
Result<std::set<std::string>> MpsOpener::decide(const State& state) {
  ASSIGN_OR_RETURN(const auto before, mps::read_open(root_));
  std::map<std::string, std::set<std::string>> wanted;
  for (const auto& resource : resources_to_open(state, before)) {
    const auto& gpus = state.get<MpsStandings>().at({resource}).gpus;
    wanted[resource] = before.contains(resource) ? std::set<std::string>() : gpus;
  }
  return book_.leave_to_claims(wanted);
}

Result<void> MpsOpener::follow(const Round& round) {
  if (resting_) return {};
  if (const auto open = decide(round.state)) {
    put(*open);
  } else if (said_.is_news("read", open.error().what)) {
    log_.error(Error(open.error()).with_context(kNotWritten));
  }
  return {};
}

void MpsOpener::put(const std::set<std::string>& open) {
  const auto written = mps::write_open(root_, open);
  again_at_.reset();
  unwritten_.reset();
  if (written) return said_.forget("file");
  unwritten_ = open;
  again_at_ = TimePoint();  // the next tick knows the time
  if (said_.is_news("file", written.error().what)) {
    log_.error(Error(written.error()).with_context(kNotWritten));
  }
}

void MpsOpener::tick(TimePoint now) {
  if (!unwritten_ || !again_at_ || now < *again_at_) return;
  const bool is_due = *again_at_ != TimePoint();
  if (is_due) put(std::set<std::string>(*unwritten_));
  if (unwritten_) again_at_ = now + kAgain;
}

void MpsOpener::rest() {
  resting_ = true;
  unwritten_.reset();
  again_at_.reset();
}

}  // namespace tranche::agent
