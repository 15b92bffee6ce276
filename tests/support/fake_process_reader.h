#pragma once
// A gpu::ProcessReader over processes that a test puts on devices. Thread-safe.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/process_reader.h"

namespace tranche::test {

class FakeProcessReader final : public gpu::ProcessReader {
 public:
  Result<std::vector<gpu::DeviceProcesses>> read(std::span<const std::string> uuids) override {
    const std::scoped_lock lock(mutex_);
    if (during_) during_();
    if (failure_) return std::unexpected(*failure_);
    std::vector<gpu::DeviceProcesses> result;
    for (const auto& uuid : uuids) {
      const auto device = devices_.find(uuid);
      if (device == devices_.end()) {
        result.push_back({uuid, fail(Code::kNotFound, "no device " + uuid)});
      } else {
        result.push_back({uuid, device->second});
      }
    }
    return result;
  }

  // Makes the device, when it was not there.
  void set(const std::string& uuid, std::vector<gpu::DeviceProcess> processes) {
    const std::scoped_lock lock(mutex_);
    devices_.insert_or_assign(uuid, std::move(processes));
  }
  // Runs while the driver is read, in the reading thread.
  void during_reading(std::function<void()> what) {
    const std::scoped_lock lock(mutex_);
    during_ = std::move(what);
  }
  // Asking for it fails.
  void remove(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    devices_.erase(uuid);
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

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<gpu::DeviceProcess>> devices_;
  std::optional<Error> failure_;
  std::function<void()> during_;
};

}  // namespace tranche::test
