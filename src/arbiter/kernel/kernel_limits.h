#pragma once
// The enforcer "kernel": has the driver limit the control groups of containers, for tenants whose
// part of a GPU is kept that way (limits/v1: memoryBy).
//
// A container is limited before the first of its processes that registers is answered, and when one
// that never registers is seen on a GPU. Its limit is the sum of what its tenants were promised of
// the GPU; it is set again when that changes, and goes with the container. As long as the driver
// refuses, or the container's group is not found, the tenant gets no more memory of that GPU at all
// (TenantSession::hold_memory): tried again each second, logged once, and in the status.
//
// Each second it is read what holds. What somebody else changed (an administrator, a driver that
// was loaded anew beneath a container) is set again, and is a finding for kChangeStays.
//
// Whoever may hang is asked on threads of their own: one that looks for control groups, one for
// each GPU. Everything here runs on the loop's.

#include <compare>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arbiter/extension.h"
#include "arbiter/kernel/memory_limiter.h"
#include "arbiter/tenant_session.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "limit/arbiter_status.h"
#include "process/poller.h"
#include "process/worker.h"

namespace tranche::arbiter {

class KernelLimits final : public Extension {
 public:
  static constexpr std::chrono::seconds kAgain{1};
  // So long a process that did not register is remembered after it was seen.
  static constexpr std::chrono::seconds kStraysStay{15};
  static constexpr std::chrono::minutes kChangeStays{5};

  // kIo: no thread.
  static Result<std::unique_ptr<KernelLimits>> open(std::shared_ptr<MemoryLimiter> limiter,
                                                    const ExtensionContext& context);
  KernelLimits(const KernelLimits&) = delete;
  KernelLimits& operator=(const KernelLimits&) = delete;

  std::optional<MemoryEnforcer> enforcer() const override { return MemoryEnforcer::kKernel; }
  // Its container is limited, or the tenant gets no memory until it is.
  bool may_answer(const TenantSession& session, const tenant::ProcessId& process) override;
  void saw(const TenantSession& session, const tenant::ProcessId& process) override;
  // "": the kernel keeps what it is to keep of the tenant's container.
  std::optional<std::string> outcome(const TenantSession& session,
                                     const tenant::ProcessId& process) const override;
  void look() override;
  void describe(limit::ArbiterStatus& status) const override;

 private:
  struct Key {
    pid_t pid;
    std::uint64_t start_time;
    auto operator<=>(const Key&) const = default;
  };
  struct Process {
    std::set<std::string> tenants;
    bool asked = false;  // the finder looks for it
    std::string cgroup;  // "": not found (yet)
    std::string failure;
    std::chrono::steady_clock::time_point due{};          // when to look again
    std::chrono::steady_clock::time_point stray_until{};  // not registered, but seen
  };
  using Place = std::pair<std::string, std::string>;  // control group, GPU
  struct Limit {
    std::optional<std::uint64_t> wanted;  // bytes; nullopt: none
    bool asked = false;                   // a thread asks the driver
    bool settled = false;                 // the driver answered about what is wanted
    std::string failure;
    std::chrono::steady_clock::time_point due{};  // when to try again, or to read what holds
    std::optional<CgroupMemory> kept{};           // as the driver told when it was set
    // By somebody else, and set again.
    std::chrono::system_clock::time_point changed{};
    std::optional<std::chrono::steady_clock::time_point> changed_at{};
  };
  using Reading = Result<CgroupMemory>;

  KernelLimits(std::shared_ptr<MemoryLimiter> limiter, std::unique_ptr<process::Worker> finder,
               const ExtensionContext& context);
  Process& know(const TenantSession& session, const tenant::ProcessId& id);
  void find(const Key& key, Process& process);
  void found(const Key& key, const Result<std::filesystem::path>& cgroup);
  void forget(const Sessions& sessions);
  void demand(const Sessions& sessions);
  void want(const Place& place, std::optional<std::uint64_t> bytes);
  void ask(const Place& place, Limit& limit);
  void answered(const Place& place, std::optional<std::uint64_t> bytes, const Result<void>& done,
                const Reading& kept);
  void check(const Place& place, Limit& limit);
  void checked(const Place& place, const Reading& holds);
  process::Worker* asker_of(const std::string& uuid, Limit& limit);
  void settle();
  std::string failure_of(const TenantSession& session, const std::string& uuid) const;
  void note(const TenantSession& session, const std::string& uuid, const std::string& failure);

  std::shared_ptr<MemoryLimiter> limiter_;
  std::filesystem::path cgroup_root_;
  FsRoot host_;
  process::Poller& poller_;
  const Clock& clock_;
  const Log& log_;
  Extensions& extensions_;
  std::function<Sessions()> sessions_;
  std::map<Key, Process> processes_;
  std::map<std::string, std::set<std::string>> containers_;  // tenants by control group
  std::map<Place, Limit> limits_;
  // What is said to be wrong, by tenant and GPU.
  std::map<std::pair<std::string, std::string>, std::string> failures_;
  // Last: their threads end before the rest goes.
  std::unique_ptr<process::Worker> finder_;
  std::map<std::string, std::unique_ptr<process::Worker>> askers_;  // by GPU
};

}  // namespace tranche::arbiter
