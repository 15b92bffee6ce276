#pragma once
// The arbiter: every tenant of the node, every device, one thread.
//
// It reads what tenants were promised from a folder that the agent writes (<id>.json, limits/v1;
// the folder <id>/ is what is mounted into the container, and holds the socket), follows changes
// there, and steps each device's policy each millisecond or two (limit/shares.h, pace) while
// somebody works or waits. When nobody does it sleeps, and `awake` in the policy pages says that a
// library must call it.

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "arbiter/device_scheduler.h"
#include "arbiter/extension.h"
#include "arbiter/memory_lender.h"
#include "arbiter/reconciler.h"
#include "arbiter/status_file.h"
#include "arbiter/tenant_session.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/watch.h"
#include "limit/stale_work.h"
#include "process/liveness_file.h"
#include "process/poller.h"

namespace tranche::arbiter {

struct ArbiterOptions {
  std::filesystem::path tenants;                         // the agent's; must be there
  std::filesystem::path state_dir;                       // tmpfs, our own; created
  FsRoot host{};                                         // for /proc
  std::filesystem::path cgroup_root = "/sys/fs/cgroup";  // the node's, of version 2
};

class Arbiter {
 public:
  // So long nobody must have worked or waited before it goes to sleep.
  static constexpr limit::Ns kLinger = std::chrono::milliseconds(20);
  // How often it looks at slow things (who has gone, accounts) while nothing happens.
  static constexpr std::chrono::milliseconds kRest{1000};
  // How often it says in the policy pages that it runs, while it is awake: libraries call it silent
  // after 2 s, and each word written there is a line that the tenant's processes must fetch anew.
  static constexpr limit::Ns kBeat = std::chrono::milliseconds(100);

  // All outlive it. Without `processes` nothing is compared with the driver. kIo: a folder cannot
  // be made or watched; and as an extension's.
  static Result<std::unique_ptr<Arbiter>> open(const ArbiterOptions& options, const Clock& clock,
                                               const Log& log,
                                               gpu::ProcessReader* processes = nullptr,
                                               const std::vector<MakeExtension>& extensions = {});
  Arbiter(const Arbiter&) = delete;
  Arbiter& operator=(const Arbiter&) = delete;
  ~Arbiter();

  // Calls `handler` from run() and round() whenever `fd` is readable: a signal's, a timer's.
  Result<void> on_readable(int fd, process::Poller::Handler handler) {
    return poller_.add(fd, std::move(handler));
  }
  // Until `stop`; looks for it after each round.
  void run(const std::stop_token& stop);
  // One round: what is ready or becomes so within `timeout`, then a step of every device when it is
  // time for it, or a notice asks for it.
  void round(std::chrono::milliseconds timeout);

  // Until the next step is due.
  std::chrono::milliseconds left() const;
  bool is_awake() const { return awake_; }
  std::size_t tenants() const { return tenants_.size(); }
  // GPU time charged to a tenant on its device `index`.
  limit::Ns charged(const std::string& tenant, unsigned index) const;
  // As it is written to status.json.
  limit::ArbiterStatus status() const;
  // Comparisons with the driver so far.
  Reconciler::Count surveys() const {
    return reconciler_ == nullptr ? Reconciler::Count{} : reconciler_->count();
  }

 private:
  struct Tenant {
    limit::TenantId id;
    std::unique_ptr<TenantSession> session;
    std::string text{};                           // of its file
    std::vector<DeviceScheduler::Part*> parts{};  // by device of its limits
    std::vector<limit::StaleWork> stale_work{};   // by slot and device
    std::uint64_t changes = 0;                    // of its processes, when it was looked at last
  };
  struct Refusal {
    std::string text;  // of the file
    std::string reason;
  };

  Arbiter(ArbiterOptions options, Watch watch, process::Poller poller, const Clock& clock,
          const Log& log);
  limit::Ns now() const;
  Result<void> extend(const std::vector<MakeExtension>& extensions);
  void scan();
  void take_in(const std::string& id, const std::string& text);
  void let_go(const std::string& id);
  void place(Tenant& tenant);
  void put_in_order();
  Reconciler::Books books();
  Sessions sessions();
  void notice(const std::string& id, limit::wire::Message kind);
  bool step();
  void read_slots();
  void read_slots(Tenant& tenant);
  void beat();
  // `something`: a socket, a process or a file had something to say.
  void look_around(bool something);
  void look_at_processes();
  void lend();
  void set_awake(bool awake);

  ArbiterOptions options_;
  process::LivenessFile alive_;
  Watch watch_;
  process::Poller poller_;
  const Clock& clock_;
  const Log& log_;
  std::uint32_t epoch_;
  std::uint32_t next_id_ = 0;
  std::map<std::string, Tenant> tenants_;           // by tenant
  std::vector<Tenant*> order_;                      // all of them, side by side, for each step
  std::map<std::string, DeviceScheduler> devices_;  // by UUID
  std::map<std::string, Refusal> refused_;          // by tenant; told once
  StatusFile status_file_;
  MemoryLender lender_;
  std::unique_ptr<Reconciler> reconciler_;  // may be null; refers to the tenants
  Extensions extensions_;                   // refer to the tenants
  limit::Ns looked_{-kRest};
  limit::Ns beat_{-kBeat};
  bool awake_ = false;
  // A notice asks for a step before its time; so many may, from one step that was due to the next,
  // for a tenant may send them without end.
  static constexpr int kHurried = 4;
  int hurried_left_ = kHurried;
  bool hurried_ = false;
  limit::Ns next_step_{0};
  tenant::SlotReading reading_;  // room for the next one
  limit::Ns last_work_{0};
};

}  // namespace tranche::arbiter
