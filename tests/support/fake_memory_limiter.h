#pragma once
// An arbiter::MemoryLimiter that keeps what was set, and refuses or hangs on request. Thread-safe.

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arbiter/kernel/memory_limiter.h"

namespace tranche::test {

class FakeMemoryLimiter final : public arbiter::MemoryLimiter {
 public:
  struct Call {
    std::string uuid;
    std::string cgroup;
    std::optional<Bytes> hard;
    bool operator==(const Call&) const = default;
  };

  Result<void> set(const std::string& uuid, const std::filesystem::path& cgroup,
                   std::optional<Bytes> hard) override {
    std::unique_lock lock(mutex_);
    calls_.push_back({uuid, cgroup, hard});
    released_.wait(lock, [&] { return !hanging_.contains(uuid); });
    if (failure_) return std::unexpected(*failure_);
    if (hard) {
      const Bytes kept{hard->value / step_.value * step_.value};
      limits_.insert_or_assign({uuid, cgroup.string()}, kept);
    } else {
      limits_.erase({uuid, cgroup.string()});
    }
    return {};
  }
  Result<arbiter::CgroupMemory> read(const std::string& uuid,
                                     const std::filesystem::path& cgroup) override {
    const std::scoped_lock lock(mutex_);
    ++readings_;
    if (failure_) return std::unexpected(*failure_);
    arbiter::CgroupMemory memory;
    if (const auto limit = limits_.find({uuid, cgroup.string()}); limit != limits_.end()) {
      memory.hard = limit->second;
    }
    return memory;
  }

  std::vector<Call> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  // How often the limits in force were read.
  unsigned readings() const {
    const std::scoped_lock lock(mutex_);
    return readings_;
  }
  // Somebody else sets a limit, or clears it.
  void change(const std::string& uuid, const std::filesystem::path& cgroup,
              std::optional<Bytes> hard) {
    const std::scoped_lock lock(mutex_);
    limits_.erase({uuid, cgroup.string()});
    if (hard) limits_.emplace(std::pair(uuid, cgroup.string()), *hard);
  }
  // Keeps whole multiples of `step`.
  void round_to(Bytes step) {
    const std::scoped_lock lock(mutex_);
    step_ = step;
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
  // Calls about `uuid` do not return until release().
  void hang(const std::string& uuid) {
    const std::scoped_lock lock(mutex_);
    hanging_.insert(uuid);
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    hanging_.clear();
    released_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::vector<Call> calls_;
  std::map<std::pair<std::string, std::string>, Bytes> limits_;
  std::set<std::string> hanging_;
  std::optional<Error> failure_;
  unsigned readings_ = 0;
  Bytes step_{1};
};

}  // namespace tranche::test
