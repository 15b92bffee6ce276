#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_mps.h"
#include "agent/dra/claim_standing.h"
#include "agent/gpunode/node_status.h"
#include "agent/hardware/leaving.h"
#include "agent/limits/limit_standing.h"
#include "agent/mps/mps_standing.h"
#include "agent/plugins/driver_standing.h"
#include "agent/withholding/held_standing.h"

namespace tranche::agent {
namespace {

class Reasons {
 public:
  void add(std::string_view about, std::string_view message) {
    if (message.empty()) return;
    all_.push_back({.about = clean(about), .message = clean(message, kLongestMessage)});
  }
  std::vector<cluster::GpuNodeReason> take() { return std::move(all_); }

 private:
  std::vector<cluster::GpuNodeReason> all_;
};

void add_hardware(const State& state, Reasons& reasons) {
  const auto& mig = state.get<MigStanding>();
  for (const auto& warning : state.machine->warnings) reasons.add("hardware", warning);
  for (const auto& gpu : state.machine->gpus) {
    const auto& uuid = gpu.uuid.value;
    reasons.add(uuid, gpu.mig_refused);
    reasons.add(uuid, gpu.mig_unread);
    if (mig.changing.contains(uuid)) reasons.add(uuid, "its MIG layout is being changed");
    const auto neighbour = mig.neighbours.find(uuid);
    if (neighbour != mig.neighbours.end()) reasons.add(uuid, neighbour->second);
  }
  const auto& driver = state.get<DriverStanding>();
  if (driver.trouble) reasons.add("driver", driver.trouble->message());
}

void add_sharing(const State& state, Reasons& reasons) {
  const auto& limits = state.get<LimitStanding>();
  reasons.add("limits", limits.trouble);
  reasons.add("limits", limits.hook_trouble);
  for (const auto& [resource, standing] : state.get<MpsStandings>()) {
    reasons.add(resource.value, standing.trouble);
  }
  reasons.add("holdings", state.get<HeldStanding>().trouble);
}

std::string holding_claims(const std::vector<holdings::Holding>& held) {
  std::set<std::string> claims;
  for (const auto& one : held) claims.insert(fmt::format("{}/{}", one.ns, one.claim));
  if (claims.empty()) return {};
  return fmt::format("claims of when the node was in mode dra still hold GPUs: {}",
                     fmt::join(claims, ", "));
}

void add_claims(const State& state, Reasons& reasons) {
  const auto& node = state.get<NodeModeStanding>();
  const auto& claims = state.get<ClaimStanding>();
  reasons.add("mode", node.label_trouble);
  if (node.undecided) reasons.add("mode", "the Node has not been read yet");
  if (node.mode == cluster::NodeMode::kDra) reasons.add("claims", claims.no_limits);
  reasons.add("claims", claims.gates_off);
  const auto held = claims.held.value_or(std::vector<holdings::Holding>());
  reasons.add("claims", describe_before_mps(held, claims.enforcers));
  reasons.add("claims", describe_after_mps(held, claims.enforcers));
  if (node.mode == cluster::NodeMode::kDevicePlugin) reasons.add("claims", holding_claims(held));
}

}  // namespace

std::vector<cluster::GpuNodeReason> reasons_of(const State& state, const offer::Offer& offer) {
  Reasons reasons;
  for (const auto& warning : offer.warnings) reasons.add("configuration", warning);
  add_hardware(state, reasons);
  add_sharing(state, reasons);
  add_claims(state, reasons);
  return reasons.take();
}

}  // namespace tranche::agent
