#include "arbiter/device_account.h"

#include <algorithm>
#include <iterator>

#include "base/printable.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

// The kernel cuts the name nvidia-cuda-mps-server to 15 characters.
constexpr std::string_view kMpsServer = "nvidia-cuda-mps";

// An impossible value counts as zero, so that NVML's count decides.
std::uint64_t believed(std::uint64_t charged) { return charged > wire::kMostCharged ? 0 : charged; }

Finding finding_of(const gpu::DeviceProcess& process, const host::ProcessFacts& facts,
                   const std::string& device) {
  Finding finding{.pid = process.pid,
                  .start_time = facts.start_time,
                  .name = printable(facts.name),
                  .cgroup = facts.cgroup.value_or(""),
                  .device = device};
  if (process.memory) finding.memory_bytes = process.memory->value;
  return finding;
}

// True also if its control group is unknown.
bool is_in_pod(const host::ProcessFacts& facts) {
  return !facts.cgroup || host::is_in_pod(*facts.cgroup);
}

// An MPS daemon of the node itself. One without a control group is ending.
bool is_mps_server_outside(const host::ProcessFacts& facts) {
  return !is_in_pod(facts) && !facts.cgroup->empty() && facts.name.starts_with(kMpsServer);
}

}  // namespace

// A container may have two tenants that share the device. Then memory that neither has charged is
// booked with the first.
bool DeviceAccount::book_registered(const gpu::DeviceProcess& process) {
  Held held{.counted = process.memory.value_or(Bytes{}).value};
  std::optional<std::size_t> owner;
  bool is_forged = false;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [session, index] = places[i];
    const std::pair key{session->limits().id, process.pid};
    const auto charged_before = before.find(key);
    const auto charged_after = after.find(key);
    if (charged_before == before.end() && charged_after == after.end()) continue;
    if (!owner) owner = i;
    if (charged_before != before.end())
      held.charged_before += believed(charged_before->second[index]);
    if (charged_after == after.end()) continue;
    held.charged_after += believed(charged_after->second[index]);
    is_forged |= charged_after->second[index] > wire::kMostCharged;
  }
  if (!owner) return false;
  auto& tenant = booked[*owner];
  tenant.held.push_back(held);
  tenant.busy += process.busy;
  tenant.registered.push_back(&process);
  if (!process.memory) tenant.unreported = true;
  if (is_forged) tenant.forgers.push_back(&process);
  return true;
}

std::vector<const gpu::DeviceProcess*> DeviceAccount::Booked::suspects() const {
  std::vector<const gpu::DeviceProcess*> seen;
  std::ranges::copy_if(registered, std::back_inserter(seen),
                       [](const gpu::DeviceProcess* process) { return process->busy > Ns{0}; });
  return seen.empty() ? registered : seen;
}

void DeviceAccount::book_stranger(const gpu::DeviceProcess& process,
                                  const host::ProcessFacts& facts,
                                  const std::set<std::string>& tenants, const NodeFolder& folder,
                                  bool serves_mps, const OnStray& on_stray) {
  Finding finding = finding_of(process, facts, device);
  bool limited = false;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const TenantSession& session = *places[i].session;
    limited |= session.is_held();
    const std::string& id = session.limits().id;
    if (!tenants.contains(id) && !folder.is_mounted(facts, id)) continue;
    booked[i].held.push_back({.counted = process.memory.value_or(Bytes{}).value});
    booked[i].busy += process.busy;
    if (!process.memory) booked[i].unreported = true;
    if (on_stray) on_stray(session, {process.pid, facts.start_time});
    if (session.limits().enforcement == Enforcement::kOff) return;
    finding.tenant = id;
    strays.push_back(std::move(finding));
    return;
  }
  others_bytes += finding.memory_bytes.value_or(0);
  // An MPS server is not a finding. Its clients are in NVML's list too, and its own memory serves
  // all of them.
  if (serves_mps || is_mps_server_outside(facts)) {
    mps_servers.push_back(process.pid);
    return;
  }
  if (!limited || !is_in_pod(facts)) return;
  finding.kind = Finding::Kind::kNoGrant;
  strays.push_back(std::move(finding));
}

void DeviceAccount::find_registered(Finding::Kind kind, const gpu::DeviceProcess& process,
                                    const host::ProcessFacts& facts, const std::string& tenant) {
  strays.push_back(finding_of(process, facts, device));
  strays.back().kind = kind;
  strays.back().tenant = tenant;
}

}  // namespace tranche::arbiter
