#pragma once
// A gpu::TelemetryReader over figures that a test puts on GPUs. As with the adapter, activity
// covers the time since the reading before: the first slow reading of a device has none.
// Thread-safe.

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu/telemetry.h"

namespace tranche::test {

class FakeTelemetryReader final : public gpu::TelemetryReader {
 public:
  Result<std::vector<Result<gpu::FastReading>>> read_fast(
      std::span<const std::string> gpus) override {
    const std::scoped_lock lock(mutex_);
    ++fast_readings_;
    return read(fast_, gpus);
  }

  Result<std::vector<Result<gpu::SlowReading>>> read_slow(
      std::span<const std::string> gpus) override {
    const std::scoped_lock lock(mutex_);
    ++slow_readings_;
    auto readings = read(slow_, gpus);
    if (!readings) return readings;
    for (auto& reading : *readings) {
      if (!reading) continue;
      hide_first(reading->uuid, reading->figures.activity);
      for (auto& instance : reading->instances) hide_first(instance.uuid, instance.figures);
    }
    return readings;
  }

  // Makes the GPU, when it was not there.
  void set(gpu::FastReading reading) {
    const std::scoped_lock lock(mutex_);
    slow_.try_emplace(reading.uuid, gpu::SlowReading{.uuid = reading.uuid});
    fast_.insert_or_assign(reading.uuid, std::move(reading));
  }
  void set(gpu::SlowReading reading) {
    const std::scoped_lock lock(mutex_);
    fast_.try_emplace(reading.uuid, gpu::FastReading{.uuid = reading.uuid});
    slow_.insert_or_assign(reading.uuid, std::move(reading));
  }
  // Asking for it fails with kNotFound.
  void remove(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    fast_.erase(uuid);
    slow_.erase(uuid);
    read_before_.erase(uuid);
  }
  // Asking for this GPU fails with it (kTimeout: it hangs; kUnavailable: it is lost), until heal().
  void fail_gpu(const std::string& uuid, Error error) {
    const std::scoped_lock lock(mutex_);
    broken_.insert_or_assign(uuid, std::move(error));
    read_before_.erase(uuid);
  }
  void heal(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    broken_.erase(uuid);
  }
  // Every call fails with it, until recover().
  void fail_with(Error error) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::move(error);
    read_before_.clear();
  }
  void recover() {
    const std::scoped_lock lock(mutex_);
    failure_.reset();
  }
  int fast_readings() const {
    const std::scoped_lock lock(mutex_);
    return fast_readings_;
  }
  int slow_readings() const {
    const std::scoped_lock lock(mutex_);
    return slow_readings_;
  }

 private:
  template <class Reading>
  Result<std::vector<Result<Reading>>> read(const std::map<std::string, Reading>& figures,
                                            std::span<const std::string> gpus) const {
    if (failure_) return std::unexpected(*failure_);
    std::vector<Result<Reading>> readings;
    for (const auto& uuid : gpus) {
      const auto broken = broken_.find(uuid);
      const auto found = figures.find(uuid);
      if (broken != broken_.end()) {
        readings.push_back(std::unexpected(broken->second));
      } else if (found == figures.end()) {
        readings.push_back(fail(Code::kNotFound, "no GPU " + uuid));
      } else {
        readings.push_back(found->second);
      }
    }
    return readings;
  }

  void hide_first(const std::string& uuid, gpu::Activity& activity) {
    if (read_before_.insert(uuid).second) activity = {};
  }

  mutable std::mutex mutex_;
  std::map<std::string, gpu::FastReading> fast_;
  std::map<std::string, gpu::SlowReading> slow_;
  std::map<std::string, Error> broken_;
  std::set<std::string> read_before_;
  std::optional<Error> failure_;
  int fast_readings_ = 0;
  int slow_readings_ = 0;
};

}  // namespace tranche::test
