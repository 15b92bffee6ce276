#pragma once
// One tenant at the arbiter: its socket, its pages, and the processes that have registered.
//
// A process is here from its hello until its pidfd or its connection says that it is gone (an exec
// closes the connection too: the program that held the memory is no more). Then its slot is
// cleared, once. After a restart of the arbiter the processes of the one before are found by their
// ids, and are here without a connection until they come again.
//
// Used by the arbiter's one thread. Handlers that are registered with the poller refer to the
// session, so it stays where it is.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "limit/tenant_limits.h"
#include "process/poller.h"
#include "tenant/policy_page.h"
#include "tenant/socket.h"
#include "tenant/usage.h"

namespace tranche::arbiter {

class TenantSession;

struct SessionOptions {
  std::filesystem::path socket;     // in the folder that is mounted into the container
  std::filesystem::path state_dir;  // tmpfs, the arbiter's own
  std::uint32_t epoch = 0;          // of the arbiter
  // Whether a process's hello may be answered now; empty: always. One that may not waits for
  // answer_held().
  std::function<bool(const TenantSession&, const tenant::ProcessId&)> may_answer{};
};

class TenantSession {
 public:
  // `poller` and `log` outlive the session. `on_notice` is called when a process waits for GPU
  // time, has begun to work, or has made a context (`device`: index in `limits`).
  using OnNotice = std::function<void(limit::wire::Message, unsigned device)>;
  static Result<std::unique_ptr<TenantSession>> open(limit::TenantLimits limits,
                                                     const SessionOptions& options,
                                                     process::Poller& poller, const Log& log,
                                                     OnNotice on_notice);
  TenantSession(const TenantSession&) = delete;
  TenantSession& operator=(const TenantSession&) = delete;
  ~TenantSession();

  const limit::TenantLimits& limits() const { return limits_; }
  // Whether its limits hold it, or it is only counted.
  bool is_held() const { return limit::is_held(limits_); }
  // Live: the tenant's processes see it with their next call. The devices must be the same ones.
  Result<void> change(limit::TenantLimits limits);

  limit::wire::PolicyPage& policy() { return policy_.get(); }
  const limit::wire::PolicyPage& policy() const { return policy_.get(); }
  // What its processes charge, and what NVML counts beyond that.
  std::uint64_t held(unsigned device);
  tenant::Usage& usage() { return usage_; }
  // No process is here.
  bool is_empty() const { return members_.empty(); }
  // The slots of the processes that are here.
  const std::vector<unsigned>& slots() const { return slots_; }
  struct Registered {
    pid_t pid;
    unsigned slot;
  };
  std::vector<Registered> registered() const;
  // Asks the processor for what a step reads of the slots and of the policy page.
  void prefetch() const;
  void each_process(auto&& handle) const {
    for (const auto& [key, member] : members_) handle(member.process.id());
  }
  // What processes told that have ended since the last call, and nobody had read.
  std::vector<limit::wire::Interval> take_left() { return std::exchange(left_, {}); }
  // Of all its processes since this arbiter began, those that have ended too.
  struct Totals {
    std::uint64_t refused = 0;     // allocations
    std::uint64_t longest_ns = 0;  // launch or graph
  };
  Totals totals();
  // Whether a thread of it stands at the gate of a device now.
  bool is_waiting(unsigned device) const;
  // Grows when a process comes or goes.
  std::uint64_t changes() const { return changes_; }
  // Asks again about those whose hello waits for an answer.
  void answer_held();
  // What it may hold of a device while it borrows, in place of what it was promised; until its
  // limits change.
  void lend_memory(unsigned device, std::uint64_t bytes);
  // No more memory of a device for the tenant, whatever it was promised: until told otherwise.
  void hold_memory(unsigned device, bool held);
  // Cuts back its usage file where a process has made it larger; once a second.
  void trim();
  // Nobody can connect any more; files that outlive an arbiter are taken away. The tenant is gone.
  void retire();

 private:
  struct Member {
    tenant::Process process;
    unsigned slot = 0;
    std::optional<tenant::Connection> connection{};
    std::optional<limit::wire::Hello> held{};  // not answered yet
  };
  using Key = pid_t;  // one living process has it

  TenantSession(limit::TenantLimits limits, SessionOptions options, tenant::PolicyPage policy,
                tenant::Usage usage, tenant::Listener listener, process::Poller& poller,
                const Log& log, OnNotice on_notice);

  Result<void> adopt();
  void note_slots();
  void add(const Member& member, Totals& totals) const;
  void publish();
  void accept_all();
  void receive(Key key);
  void greet(tenant::Connection connection);
  void welcome(Member& member, const limit::wire::Hello& hello);
  Result<void> watch(Member& member);
  void dismiss(Key key);

  limit::TenantLimits limits_;
  SessionOptions options_;
  tenant::PolicyPage policy_;
  tenant::Usage usage_;
  tenant::Listener listener_;
  process::Poller& poller_;
  const Log& log_;
  OnNotice on_notice_;
  std::map<Key, Member> members_;
  std::vector<unsigned> slots_;  // theirs: walked at each step
  Totals ended_{};               // of processes that are no more
  std::uint64_t changes_ = 0;
  std::map<unsigned, std::uint64_t> lent_;  // by device
  std::set<unsigned> without_memory_;       // devices
  std::vector<limit::wire::Interval> left_{};
  bool was_trimmed_ = false;
};

// All of the node.
using Sessions = std::vector<TenantSession*>;

}  // namespace tranche::arbiter
