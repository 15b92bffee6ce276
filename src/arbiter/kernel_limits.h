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

#include "arbiter/tenant_session.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "gpu/memory_limiter.h"
#include "limit/arbiter_status.h"
#include "process/poller.h"
#include "process/worker.h"

namespace tranche::arbiter {

class KernelLimits {
 public:
  static constexpr std::chrono::seconds kAgain{1};
  // So long a process that did not register is remembered after it was seen.
  static constexpr std::chrono::seconds kStraysStay{15};
  static constexpr std::chrono::minutes kChangeStays{5};

  struct Options {
    std::filesystem::path cgroup_root;  // of version 2, the node's
    FsRoot host;                        // for /proc
  };
  using Sessions = std::vector<TenantSession*>;

  // All outlive it; `sessions` are asked for anew each time.
  static Result<std::unique_ptr<KernelLimits>> open(gpu::MemoryLimiter& limiter, Options options,
                                                    process::Poller& poller, const Clock& clock,
                                                    const Log& log,
                                                    std::function<Sessions()> sessions);
  KernelLimits(const KernelLimits&) = delete;
  KernelLimits& operator=(const KernelLimits&) = delete;

  // Whether the hello of a tenant's process may be answered now: its container is limited, or the
  // tenant gets no memory until it is. false: the session is told (answer_held) when that changes.
  bool may_answer(const TenantSession& session, const tenant::ProcessId& process);
  // A process of the tenant's container that uses a GPU and has not registered, or that is about to
  // start.
  void saw(const TenantSession& session, const tenant::ProcessId& process);
  // What came of it, for a process that it was told of: "": the kernel keeps what it is to keep of
  // the tenant's container; else why not. nullopt: not known yet.
  std::optional<std::string> outcome(const TenantSession& session,
                                     const tenant::ProcessId& process) const;
  // Called when an outcome may have come.
  void on_settled(std::function<void()> handler) { on_settled_ = std::move(handler); }
  // Follows what came, went and changed, and tries again what failed. At least each second.
  void look();
  // Adds what is degraded, and findings.
  void describe(limit::ArbiterStatus& status) const;

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
    std::optional<gpu::CgroupMemory> kept{};      // as the driver told when it was set
    // By somebody else, and set again.
    std::chrono::system_clock::time_point changed{};
    std::optional<std::chrono::steady_clock::time_point> changed_at{};
  };
  using Reading = Result<gpu::CgroupMemory>;

  KernelLimits(gpu::MemoryLimiter& limiter, Options options,
               std::unique_ptr<process::Worker> finder, process::Poller& poller, const Clock& clock,
               const Log& log, std::function<Sessions()> sessions);
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

  gpu::MemoryLimiter& limiter_;
  Options options_;
  process::Poller& poller_;
  const Clock& clock_;
  const Log& log_;
  std::function<Sessions()> sessions_;
  std::function<void()> on_settled_;
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
