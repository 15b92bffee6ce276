// Reader::read_topology. It runs one task for each GPU under the key of that GPU's reading, so a
// GPU that hangs is not asked here either.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "nvml/reader.h"

namespace tranche::nvml {
namespace {

struct Peer {
  gpu::PciAddress pci;
  std::optional<Device> handle;  // nullopt: not asked
};

// The links of one GPU to every GPU, in the order of the machine.
struct Row {
  std::vector<gpu::P2pLevel> levels;  // to later GPUs only: the level is symmetric
  std::vector<int> nvlinks;
  int switch_links = 0;
};

gpu::P2pLevel to_level(int level) {
  using enum gpu::P2pLevel;
  static constexpr std::array kLevels = {kInternal,   kSingleSwitch, kMultiSwitch,
                                         kHostBridge, kNode,         kSystem};
  const auto found = std::ranges::find(kLevels, static_cast<gpu::P2pLevel>(level));
  return found == kLevels.end() ? kUnknown : *found;
}

void read_levels(Calls& call, const std::vector<Peer>& peers, std::size_t self, Row& row) {
  for (std::size_t other = self + 1; other < peers.size(); ++other) {
    if (!peers[other].handle) continue;
    int level = 0;
    const Return result = call(call.api().nvmlDeviceGetTopologyCommonAncestor, *peers[self].handle,
                               *peers[other].handle, &level);
    if (result == kSuccess) row.levels[other] = to_level(level);
  }
}

// A library without this call reports no switch.
bool leads_to_switch(Calls& call, Device device, unsigned link) {
  int type = 0;
  return call(call.api().nvmlDeviceGetNvLinkRemoteDeviceType, device, link, &type) == kSuccess &&
         type == kNvLinkToSwitch;
}

// Counts the NVLinks that are up: those whose far end is a GPU of this machine, and those to an
// NVSwitch.
void read_nvlinks(Calls& call, const std::vector<Peer>& peers, std::size_t self, Row& row) {
  for (unsigned link = 0; link < kMaxNvLinks; ++link) {
    int active = 0;
    const Return result =
        call(call.api().nvmlDeviceGetNvLinkState, *peers[self].handle, link, &active);
    // NOT_SUPPORTED: the GPU has no NVLink. INVALID_ARGUMENT: there is no link with this number.
    if (result == kNotSupported || result == kInvalidArgument || result == kFunctionNotFound)
      return;
    if (result != kSuccess || active == 0) continue;
    if (leads_to_switch(call, *peers[self].handle, link)) {
      ++row.switch_links;
      continue;
    }
    PciInfo remote = {};
    if (call(call.api().nvmlDeviceGetNvLinkRemotePciInfo_v2, *peers[self].handle, link, &remote) !=
        kSuccess) {
      continue;
    }
    const gpu::PciAddress far = {
        .domain = remote.domain, .bus = remote.bus, .device = remote.device};
    const auto peer = std::ranges::find(peers, far, &Peer::pci);
    if (peer != peers.end()) ++row.nvlinks[static_cast<std::size_t>(peer - peers.begin())];
  }
}

gpu::Topology combine(const std::vector<Row>& rows) {
  gpu::Topology topology(rows.size());
  for (std::size_t a = 0; a < rows.size(); ++a) {
    topology.set_switch_links(a, rows[a].switch_links);
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      topology.set(a, b,
                   {.level = rows[a].levels[b],
                    .nvlinks = std::max(rows[a].nvlinks[b], rows[b].nvlinks[a])});
    }
  }
  return topology;
}

}  // namespace

std::vector<std::optional<Device>> Reader::handles_of(const gpu::Machine& machine) const {
  std::vector<std::optional<Device>> handles;
  for (const auto& gpu : machine.gpus) {
    const auto found = handles_.find(gpu.uuid.value);
    const bool usable = found != handles_.end() && gpu.presence == gpu::Presence::kPresent;
    handles.push_back(usable ? std::optional(found->second) : std::nullopt);
  }
  return handles;
}

Result<gpu::Topology> Reader::read_topology(const gpu::Machine& machine) {
  const auto session = session_.lock();
  if (session == nullptr || !connection_->in_force(session.get())) {
    return fail(Code::kUnavailable, "the links between GPUs are unknown: NVML is not up",
                "they are read again after the next reading of the machine");
  }
  auto peers = std::make_shared<std::vector<Peer>>();
  const auto handles = handles_of(machine);
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    peers->push_back({.pci = machine.gpus[i].pci, .handle = handles[i]});
  }
  const Row unknown = {.levels = std::vector(peers->size(), gpu::P2pLevel::kUnknown),
                       .nvlinks = std::vector(peers->size(), 0)};
  std::vector<Row> rows(peers->size(), unknown);
  std::vector<std::shared_ptr<Row>> answers;
  std::vector<std::size_t> asked;
  std::vector<DeadlinePool::Task> tasks;
  for (std::size_t i = 0; i < peers->size(); ++i) {
    if (!(*peers)[i].handle) continue;
    auto answer = std::make_shared<Row>(unknown);
    tasks.push_back({.key = fmt::format("gpu {}", machine.gpus[i].index),
                     .work = [session, peers, answer, i](Progress& progress) {
                       Calls call(session->api(), progress);
                       read_levels(call, *peers, i, *answer);
                       read_nvlinks(call, *peers, i, *answer);
                     }});
    answers.push_back(std::move(answer));
    asked.push_back(i);
  }
  const auto outcomes = connection_->pool().run(std::move(tasks));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].finished) rows[asked[i]] = std::move(*answers[i]);
  }
  return combine(rows);
}

}  // namespace tranche::nvml
