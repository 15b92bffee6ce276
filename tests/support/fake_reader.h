#pragma once
// A gpu::Reader over a machine that a test describes and changes, with the adapter's promises
// (tests/contract runs the same cases on both): a lost or hanging GPU is listed as such once it was
// seen healthy, and is a warning before; a driver that is gone or hangs fails the whole reading.
// Thread-safe. Calls are recorded.

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu/reader.h"

namespace tranche::test {

class FakeReader final : public gpu::Reader {
 public:
  explicit FakeReader(gpu::Machine machine = {}, gpu::Topology topology = {})
      : machine_(std::move(machine)), topology_(std::move(topology)) {}

  Result<gpu::Machine> read() override {
    const std::scoped_lock lock(mutex_);
    calls_.emplace_back("read");
    if (failure_) return std::unexpected(*failure_);
    gpu::Machine result = machine_;
    result.gpus.clear();
    for (const gpu::Gpu& gpu : machine_.gpus) {
      if (gone_.contains(gpu.uuid.value)) continue;
      const auto trouble = trouble_.find(gpu.uuid.value);
      if (trouble == trouble_.end()) {
        seen_.insert_or_assign(gpu.uuid.value, gpu);
        result.gpus.push_back(gpu);
      } else if (const auto seen = seen_.find(gpu.uuid.value); seen != seen_.end()) {
        gpu::Gpu old = seen->second;
        old.presence = trouble->second.first;
        old.presence_reason = trouble->second.second;
        result.gpus.push_back(std::move(old));
      } else {
        result.warnings.push_back(gpu.uuid.value + " is left out: " + trouble->second.second);
      }
    }
    return result;
  }

  Result<gpu::Topology> read_topology(const gpu::Machine& machine) override {
    const std::scoped_lock lock(mutex_);
    calls_.emplace_back("read_topology");
    if (failure_) return std::unexpected(*failure_);
    return topology_.size() == machine.gpus.size() ? topology_ : gpu::Topology(machine.gpus.size());
  }

  // Replaces the hardware; what was lost, hung or gone is forgotten.
  void set_machine(gpu::Machine machine, gpu::Topology topology = {}) {
    const std::scoped_lock lock(mutex_);
    machine_ = std::move(machine);
    topology_ = std::move(topology);
    trouble_.clear();
    gone_.clear();
  }
  void lose(const std::string& uuid) { set_trouble(uuid, gpu::Presence::kLost, "GPU is lost"); }
  void hang(const std::string& uuid) {
    set_trouble(uuid, gpu::Presence::kUnknown, "nvmlDeviceGetName has not returned");
  }
  // The driver no longer counts it.
  void remove(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    gone_.insert(uuid);
  }
  // It is healthy again.
  void restore(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    trouble_.erase(uuid);
    gone_.erase(uuid);
  }
  // Every call fails with it, until recover().
  void fail_with(Error error) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::move(error);
  }
  void recover() {
    const std::scoped_lock lock(mutex_);
    failure_.reset();
  }

  // "read", "read_topology", in order.
  std::vector<std::string> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  void set_trouble(const std::string& uuid, gpu::Presence presence, std::string reason) {
    const std::scoped_lock lock(mutex_);
    trouble_.insert_or_assign(uuid, std::pair(presence, std::move(reason)));
  }

  mutable std::mutex mutex_;
  gpu::Machine machine_;
  gpu::Topology topology_;
  std::map<std::string, std::pair<gpu::Presence, std::string>> trouble_;
  std::map<std::string, gpu::Gpu> seen_;
  std::set<std::string> gone_;
  std::optional<Error> failure_;
  std::vector<std::string> calls_;
};

}  // namespace tranche::test
