#include "agent/hardware/hardware_watch.h"

#include <utility>

namespace tranche::agent {
namespace {

std::vector<std::string> present_uuids(const gpu::Machine& machine) {
  std::vector<std::string> uuids;
  for (const auto& gpu : machine.gpus) {
    if (gpu.presence == gpu::Presence::kPresent) uuids.push_back(gpu.uuid.value);
  }
  return uuids;
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
      wake_.wait_for(lock, stop, interval_, [this] { return asked_; });
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
  if (uuids.size() < 2 || uuids == linked_) return;
  auto present = machine;
  std::erase_if(present.gpus,
                [](const gpu::Gpu& gpu) { return gpu.presence != gpu::Presence::kPresent; });
  auto topology = reader_.read_topology(present);
  if (!topology) return;  // retried after the next reading
  linked_ = uuids;
  callbacks_.links({std::move(uuids), *std::move(topology)});
}

}  // namespace tranche::agent
