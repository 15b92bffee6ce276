#pragma once
// One tenant at the arbiter: its socket, its pages, and its registered processes.
//
// A process is a member from its hello until its pidfd reports its end. Then its slot is cleared,
// once. A process that lost its connection but is alive may return within kReturn: its program
// closed a descriptor that it did not know. Or it runs another program (exec), whose library, if it
// uses CUDA, connects without a slot: then the slot is cleared for it. Before that the driver may
// report that it holds nothing any more (release_lost()). A restarted arbiter finds the
// previous one's processes by their ids. They are members without a connection until they connect
// again. With their hello they hand over the usage memory.
//
// Used by the arbiter's one thread. Handlers registered with the poller refer to the session, so
// its address must not change.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "arbiter/places.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_limiter.h"
#include "limit/tenant_limits.h"
#include "process/poller.h"
#include "tenant/policy_page.h"
#include "tenant/socket.h"
#include "tenant/usage.h"

namespace tranche::arbiter {

class TenantSession;

struct SessionOptions {
  // The socket's path, in the folder that is mounted into the container.
  std::filesystem::path socket;
  std::filesystem::path state_dir;  // tmpfs, the arbiter's own
  std::uint32_t epoch = 0;          // the arbiter's; new at every start
  // Whether a process's hello may be answered now; empty: always. An unanswered hello waits for
  // answer_held().
  std::function<bool(const TenantSession&, const tenant::ProcessId&)> may_answer{};
  // A process handed over something other than its tenant's usage file; may be empty.
  std::function<void(const tenant::ProcessId&)> on_foreign_file{};
};

class TenantSession {
 public:
  // How long processes of an earlier arbiter may take to hand its memory over: they look for the
  // next arbiter once a second.
  static constexpr std::chrono::milliseconds kHandOver{1500};
  // How long a process may be without its connection. Its library looks once a second.
  static constexpr std::chrono::seconds kReturn{10};

  // What it uses of the arbiter. The references must outlive the session.
  struct Ports {
    process::Poller& poller;
    const Clock& clock;
    const Log& log;
    Places& places;
    // Called when a process waits for GPU time, has started to work, or has created a context
    // (`device`: index in the tenant's limits). May be empty.
    std::function<void(limit::wire::Message, unsigned device)> on_notice = {};
  };
  static Result<std::unique_ptr<TenantSession>> open(limit::TenantLimits limits,
                                                     const SessionOptions& options, Ports ports);
  TenantSession(const TenantSession&) = delete;
  TenantSession& operator=(const TenantSession&) = delete;
  ~TenantSession();

  const limit::TenantLimits& limits() const { return limits_; }
  // False: the tenant is only counted, its limits are not enforced.
  bool is_held() const { return limit::is_held(limits_); }
  // Changes the limits of the running tenant: its processes see them with their next call.
  // kInvalidArgument: the devices differ.
  Result<void> change(limit::TenantLimits limits);

  limit::wire::PolicyPage& policy() { return policy_.get(); }
  const limit::wire::PolicyPage& policy() const { return policy_.get(); }
  // Bytes that its processes charge on a device, plus what NVML counts beyond that.
  std::uint64_t held(unsigned device);
  tenant::Usage& usage() { return usage_; }
  const tenant::Usage& usage() const { return usage_; }
  // Whether the tenant has no registered process.
  bool is_empty() const { return members_.empty(); }
  // The slots of the registered processes.
  const std::vector<unsigned>& slots() const { return slots_; }
  struct Registered {
    pid_t pid;
    unsigned slot;
  };
  std::vector<Registered> registered() const;
  // Processes that are alive without a connection.
  std::vector<pid_t> lost() const;
  // Drops one of lost() before kReturn: it holds nothing any more.
  void release_lost(pid_t pid);
  // Prefetches the cache lines that a step reads of the policy page and of at most `most` slots,
  // starting at slots()[first] and wrapping around.
  void prefetch(std::size_t first, std::size_t most) const;
  void each_process(auto&& handle) const {
    for (const auto& [key, member] : members_) handle(member.process.id());
  }
  // Unread batches in the slots of processes that have ended since the last
  // call.
  std::vector<limit::wire::Interval> take_left() { return std::exchange(left_, {}); }
  // Sums over all its processes since this arbiter started, including ended ones.
  struct Totals {
    std::uint64_t refused = 0;         // allocations that were refused
    std::uint64_t longest_ns = 0;      // the longest launch or graph
    std::uint64_t driver_refused = 0;  // allocations that the driver refused
    // The last ones, by the processes' own account; never of the future.
    tenant::Usage::Failure last_refused{};
    tenant::Usage::Failure last_driver_refused{};
  };
  Totals totals();
  // Whether a thread of the tenant is waiting at the gate of a device now. With more than kFew
  // processes this is not checked, and the answer is yes.
  static constexpr std::size_t kFew = 64;
  bool is_waiting(unsigned device) const;
  // A counter that increases when a process comes or goes, or loses its connection.
  std::uint64_t changes() const { return changes_; }
  // Whether the usage memory is still with the previous arbiter's processes. Until one of them
  // hands it over, or give_up_usage(), no hello is answered: the processes continue with their old
  // pages.
  bool awaits_usage() const { return usage_.awaits_file(); }
  // Continues with new memory: none handed over the old one in time.
  void give_up_usage();
  // Asks may_answer again for every process whose hello waits for an answer.
  void answer_held();
  // Replaces the promised bytes that the tenant may hold of a device, until its limits
  // change.
  void lend_memory(unsigned device, std::uint64_t bytes);
  // While `held`, the tenant gets no more memory of the device, whatever it was promised.
  void hold_memory(unsigned device, bool held);
  // Frees slots that could not be freed when their processes ended, drops processes that did not
  // return, accepts processes again after a shortage, and gives up memory that was not handed over.
  // Called once a second.
  void tidy(std::chrono::nanoseconds now);
  // Ends a tenant that is gone: removes its socket, and the files that would outlive the arbiter.
  void retire();

 private:
  struct Member {
    tenant::Process process;
    Places::Lease place;
    unsigned slot = 0;
    std::optional<tenant::Connection> connection{};
    std::optional<limit::wire::Hello> held{};  // a hello that is not answered yet
    bool is_new = false;                       // it was never told its slot
    bool is_told = false;                      // it was told its slot by this arbiter
    bool is_lost = false;                      // it is alive, but its connection has ended
    std::optional<std::chrono::nanoseconds> lost_since{};  // when tidy() first saw it
  };
  using Key = pid_t;  // a pid; only one living process has it

  // What open() opened for it.
  struct Opened {
    tenant::PolicyPage policy;
    tenant::Usage usage;
    tenant::Listener listener;
  };
  TenantSession(limit::TenantLimits limits, SessionOptions options, Opened opened, Ports ports);

  Result<void> adopt();
  void note_slots();
  void add(const Member& member, Totals& totals) const;
  void publish();
  Result<void> listen();
  void accept_all();
  void receive(Key key);
  void greet(tenant::Peer peer);
  Member* add_member(tenant::Process process, tenant::Connection& connection);
  void turn_away(tenant::Connection& connection, std::string_view why);
  void welcome(Member& member, const limit::wire::Hello& hello);
  void restore_slot(Member& member, const limit::wire::Hello& hello);
  void take_over(tenant::ProcessId from, std::optional<tenant::ForeignDescriptor> memory);
  Result<void> watch(Member& member);
  void lose_connection(Key key);
  void dismiss_lost(std::chrono::nanoseconds now);
  bool begin_anew(Member& member);
  void settle(const Member& member);
  void dismiss(Key key);
  void release(const tenant::ProcessId& process);
  void release_rest();

  limit::TenantLimits limits_;
  SessionOptions options_;
  tenant::PolicyPage policy_;
  tenant::Usage usage_;
  tenant::Listener listener_;
  Ports ports_;
  LogLimiter told_;  // for messages that its processes can cause without limit
  std::map<Key, Member> members_;
  std::vector<unsigned> slots_;  // the members' slots, walked at each step
  Totals ended_{};               // totals of processes that have ended
  std::uint64_t changes_ = 0;
  std::map<unsigned, std::uint64_t> lent_;  // bytes, by device
  std::set<unsigned> without_memory_;       // devices with hold_memory()
  std::vector<limit::wire::Interval> left_{};
  std::vector<tenant::ProcessId> unreleased_;  // ended, but their slots could not be freed yet
  std::optional<std::chrono::nanoseconds> awaited_since_{};
  bool is_listening_ = false;
  std::vector<tenant::Connection> turned_away_;  // until they have read their answer
};

// All sessions of the node.
using Sessions = std::vector<TenantSession*>;

}  // namespace tranche::arbiter
