#include "agent/hardware/hardware_watch.h"

#include <algorithm>
#include <utility>

namespace tranche::agent {
namespace {

// A link may come up after the agent, with NVIDIA's fabric manager, or go down.
constexpr int kReadingsBetweenLinks = 12;
// A changed layout is advertised within 5 s.
constexpr std::chrono::milliseconds kMigInterval{4000};

std::chrono::milliseconds pause_of(const gpu::Machine& machine,
                                   std::chrono::milliseconds interval) {
  const bool has_mig = std::ranges::any_of(
      machine.gpus, [](const gpu::Gpu& gpu) { return gpu.mig_mode != gpu::MigMode::kUnsupported; });
  return has_mig ? std::min(interval, kMigInterval) : interval;
}

std::vector<std::string> present_uuids(const gpu::Machine& machine) {
  std::vector<std::string> uuids;
  for (const auto& gpu : machine.gpus) {
    if (gpu.presence == gpu::Presence::kPresent) uuids.push_back(gpu.uuid.value);
  }
  return uuids;
}

bool is_known(const gpu::Topology& topology) {
  for (std::size_t a = 0; a < topology.size(); ++a) {
    for (std::size_t b = a + 1; b < topology.size(); ++b) {
      if (topology.at(a, b).level == gpu::P2pLevel::kUnknown) return false;
    }
  }
  return true;
}

}  // namespace

HardwareWatch::HardwareWatch(gpu::Reader& reader, std::chrono::milliseconds interval,
                             gpu::Machine known, Callbacks callbacks)
    : reader_(reader),
      interval_(interval),
      known_(std::move(known)),
      callbacks_(std::move(callbacks)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

HardwareWatch::~HardwareWatch() {
  thread_.request_stop();
  thread_.join();
}

void HardwareWatch::read_now() {
  {
    const std::scoped_lock lock(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
}

void HardwareWatch::run(const std::stop_token& stop) {
  read_links(known_);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, pause_of(known_, interval_), [this] { return asked_; });
      asked_ = false;
    }
    if (stop.stop_requested()) return;
    auto machine = reader_.read();
    if (machine) known_ = *machine;
    callbacks_.reading(std::move(machine));
    read_links(known_);
  }
}

void HardwareWatch::read_links(const gpu::Machine& machine) {
  if (!callbacks_.links) return;
  auto uuids = present_uuids(machine);
  if (uuids.size() < 2) return;
  const bool known = uuids == links_.gpu_uuids && is_known(links_.topology);
  if (known && ++readings_since_links_ < kReadingsBetweenLinks) return;
  readings_since_links_ = 0;
  auto present = machine;
  std::erase_if(present.gpus,
                [](const gpu::Gpu& gpu) { return gpu.presence != gpu::Presence::kPresent; });
  auto topology = reader_.read_topology(present);
  if (!topology) return;  // retried after the next reading
  if (known && !is_known(*topology)) return;
  offer::Links links{.gpu_uuids = std::move(uuids), .topology = *std::move(topology)};
  if (links == links_) return;
  links_ = links;
  callbacks_.links(std::move(links));
}

}  // namespace tranche::agent
