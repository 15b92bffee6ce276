#pragma once
// The memory enforcer "kernel" (limits/v1: memoryBy). For tenants that have it, the driver limits
// the control groups of their containers.
//
// A container is limited before its first registering process is answered, or when an unregistered
// process of it is seen on a GPU. Its limit is the sum of what its tenants were promised of the
// GPU. The limit is set again when that sum changes, and ends with the container. While the driver
// refuses, or the container's control group is not found, the tenant gets no more memory of that
// GPU (TenantSession::hold_memory). Setting it is then retried each second; the failure is logged
// once and is in the status.
//
// Each second the current limit is read back. If something else changed it (an administrator, or a
// driver that was reloaded under a running container), it is set again, and that is a finding for
// kChangeStays.
//
// Calls that may hang run on separate threads: one that looks for control groups, and one for each
// GPU. Everything else runs on the loop's thread.

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
#include "process/task_thread.h"

namespace tranche::arbiter {

class KernelLimits final : public Extension {
 public:
  static constexpr std::chrono::seconds kAgain{1};
  // How long an unregistered process is remembered after it was last seen.
  static constexpr std::chrono::seconds kStraysStay{15};
  static constexpr std::chrono::minutes kChangeStays{5};

  // kIo: a thread cannot be started.
  static Result<std::unique_ptr<KernelLimits>> open(std::shared_ptr<MemoryLimiter> limiter,
                                                    const ExtensionContext& context);
  KernelLimits(const KernelLimits&) = delete;
  KernelLimits& operator=(const KernelLimits&) = delete;

  std::optional<MemoryEnforcer> enforcer() const override { return MemoryEnforcer::kKernel; }
  // True when the process's container is limited, or when the limit failed and the tenant's memory
  // is held.
  bool may_answer(const TenantSession& session, const tenant::ProcessId& process) override;
  void saw(const TenantSession& session, const tenant::ProcessId& process) override;
  // "": the kernel enforces every limit that it should for the tenant's container.
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
    bool asked = false;  // the finder is looking for its control group
    std::string cgroup;  // "": not found, or not yet
    std::string failure;
    std::chrono::steady_clock::time_point due{};  // when to look again
    // Kept until then even if it does not register.
    std::chrono::steady_clock::time_point stray_until{};
  };
  using Place = std::pair<std::string, std::string>;  // control group and GPU UUID
  struct Limit {
    std::optional<std::uint64_t> wanted;  // bytes; nullopt: none
    bool asked = false;                   // a call to the driver is in progress
    bool settled = false;                 // the driver has answered about `wanted`
    std::string failure;
    std::chrono::steady_clock::time_point due{};  // when to retry, or to read back
    std::optional<CgroupMemory> kept{};           // what the driver reported after it was set
    // When something else last changed the limit and it was set again.
    std::chrono::system_clock::time_point changed{};
    std::optional<std::chrono::steady_clock::time_point> changed_at{};
  };
  using Reading = Result<CgroupMemory>;

  KernelLimits(std::shared_ptr<MemoryLimiter> limiter, std::unique_ptr<process::TaskThread> finder,
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
  process::TaskThread* asker_of(const std::string& uuid, Limit& limit);
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
  // Failures that were logged, by tenant and GPU.
  std::map<std::pair<std::string, std::string>, std::string> failures_;
  // Last, so that their threads end before the other members are destroyed.
  std::unique_ptr<process::TaskThread> finder_;
  std::map<std::string, std::unique_ptr<process::TaskThread>> askers_;  // by GPU
};

}  // namespace tranche::arbiter
