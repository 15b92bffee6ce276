#pragma once
// Serves every tenant and schedules every device of the node, on one thread.
//
// The agent writes one file per tenant into a folder: <id>.json (limits/v1) has the tenant's
// promised limits (arbiter/tenant_files.h). The folder <id>/ next to it is mounted into the
// container and contains the arbiter's socket.
//
// While any process works or waits, the arbiter steps each device's policy every millisecond or two
// (limit/fair_queue.h, pace). Otherwise it sleeps, and clears `awake` in the policy pages: then a
// library must wake it.

#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "arbiter/device_scheduler.h"
#include "arbiter/extension.h"
#include "arbiter/flight_recorder.h"
#include "arbiter/foreign_files.h"
#include "arbiter/memory_lender.h"
#include "arbiter/places.h"
#include "arbiter/reconciler.h"
#include "arbiter/status_file.h"
#include "arbiter/tenant_files.h"
#include "arbiter/tenant_session.h"
#include "base/clock.h"
#include "base/log.h"
#include "limit/stale_work.h"
#include "process/liveness_file.h"
#include "process/poller.h"

namespace tranche::arbiter {

struct ArbiterOptions {
  std::filesystem::path tenants;    // the agent's folder; must exist
  std::filesystem::path state_dir;  // the arbiter's own folder, on a tmpfs; created if missing
  FsRoot host{};                    // for /proc
  std::filesystem::path cgroup_root = "/sys/fs/cgroup";  // the node's cgroup v2 tree
  std::filesystem::path mps_dir = "/mps";  // the folder of the MPS control daemons, as mounted here
  // How long a tenant may be without GPU time, or a launch may last, before that is an incident; 0:
  // stalls are not looked for.
  limit::Ns stall_after = std::chrono::seconds(10);
};

class Arbiter {
 public:
  // The arbiter goes to sleep when no process has worked or waited for this long.
  static constexpr limit::Ns kLinger = std::chrono::milliseconds(20);
  // How often the arbiter does its slow checks (ended processes, accounts) while nothing happens.
  static constexpr std::chrono::milliseconds kRest{1000};
  // How often the arbiter renews its heartbeat in the policy pages while it is awake. A library
  // considers the arbiter dead after 2 s without one. Each write to a page costs the tenant's
  // processes a fetch of that cache line, so the heartbeat is no more frequent than this.
  static constexpr limit::Ns kBeat = std::chrono::milliseconds(100);
  // The most slots and intervals of a tenant that a step reads. A tenant with more waits longer
  // until all of its processes were read; the others do not.
  static constexpr std::size_t kMostSlots = TenantSession::kFew;
  static constexpr std::size_t kMostIntervals = 1024;

  // The references and `processes` must outlive the arbiter. Without `processes` nothing is
  // compared with NVML. kIo: a folder cannot be created or watched. An extension's error is
  // returned unchanged.
  static Result<std::unique_ptr<Arbiter>> open(const ArbiterOptions& options, const Clock& clock,
                                               const Log& log,
                                               gpu::ProcessReader* processes = nullptr,
                                               const std::vector<MakeExtension>& extensions = {});
  Arbiter(const Arbiter&) = delete;
  Arbiter& operator=(const Arbiter&) = delete;
  ~Arbiter();

  // Calls `handler` from run() and round() whenever `fd` (a signalfd, a timerfd) is readable.
  Result<void> on_readable(int fd, process::Poller::Handler handler) {
    return poller_.add(fd, std::move(handler));
  }
  // Runs rounds until `stop`, which is checked after each round.
  void run(const std::stop_token& stop);
  // Runs one round. It handles every descriptor that is ready or becomes ready within `timeout`.
  // Then it steps every device if the next step is due or a notice asks for one.
  void round(std::chrono::milliseconds timeout);

  // Time until the next step or the next check is due.
  std::chrono::milliseconds left() const;
  bool is_awake() const { return awake_; }
  std::size_t tenants() const { return tenants_.size(); }
  // GPU time charged to a tenant on its device `index`.
  limit::Ns charged(const std::string& tenant, unsigned index) const;
  // Whether the tenant's own count of what it asked for of its device `index` is false.
  bool is_false(const std::string& tenant, unsigned index) const;
  // The status as it is written to status.json.
  limit::ArbiterStatus status() const;
  // How many comparisons with NVML were started and finished so far.
  Reconciler::Count scans() const {
    return reconciler_ == nullptr ? Reconciler::Count{} : reconciler_->count();
  }

 private:
  // The work of a process on one device, as last read.
  struct SlotWork {
    limit::StaleWork stale{};
    limit::Ns unfinished{0};
    std::optional<limit::Ns> busy_since{};  // nullopt: idle, or the process is silent
    std::optional<limit::Ns> told_since{};  // the same, also of a silent process
    bool waiting = false;
  };
  struct Tenant {
    limit::TenantId id;
    std::unique_ptr<TenantSession> session;
    std::vector<DeviceScheduler::Part*> parts{};       // one per device, in the order of its limits
    std::vector<const DeviceScheduler*> schedulers{};  // the same
    std::vector<SlotWork> work{};                      // by slot and device
    std::size_t next_slot = 0;  // in session->slots(): where the next step reads
    std::uint64_t changes = 0;  // session->changes() at the last look
  };

  Arbiter(ArbiterOptions options, TenantFiles files, process::Poller poller, const Clock& clock,
          const Log& log);
  limit::Ns now() const;
  Result<void> extend(const std::vector<MakeExtension>& extensions);
  void scan();
  Result<void> serve(const std::string& id, limit::TenantLimits limits);
  Result<void> admit(const std::string& id, limit::TenantLimits limits);
  void release(const std::string& id);
  void place(Tenant& tenant);
  void put_in_order();
  Reconciler::Books books();
  Sessions sessions();
  void notice(const std::string& id, limit::wire::Message kind);
  bool step();
  void read_slots();
  void read_slots(Tenant& tenant);
  void read_slot(Tenant& tenant, unsigned slot, limit::Ns time);
  static void add_up(Tenant& tenant);
  void beat();
  // `something`: a descriptor was ready (a socket, a pidfd or the watched folder).
  void look_around(bool something);
  void look_at_processes();
  const incidents::NodeReading& reading();
  void prepare_reading();
  void fill(incidents::TenantReading& told, const Tenant& tenant) const;
  static std::optional<limit::Ns> busy_since(const Tenant& tenant, unsigned device);
  bool may_lend();
  void lend();
  void set_awake(bool awake);

  ArbiterOptions options_;
  process::LivenessFile alive_;
  TenantFiles files_;
  process::Poller poller_;
  Places places_ = Places::of_this_process();  // outlives the sessions
  const Clock& clock_;
  const Log& log_;
  std::uint32_t epoch_;
  std::uint32_t next_id_ = 0;
  std::map<std::string, Tenant> tenants_;           // by tenant
  std::vector<Tenant*> order_;                      // all tenants; each step walks them
  std::map<std::string, DeviceScheduler> devices_;  // by UUID
  StatusFile status_file_;
  FlightRecorder recorder_;
  incidents::NodeReading node_reading_;  // reused for every sample
  std::vector<const Tenant*> read_;      // the tenants in it, in its order
  bool is_reading_ready_ = false;        // false: tenants came or went since
  MemoryLender lender_;
  ForeignFiles foreign_files_;
  std::unique_ptr<Reconciler> reconciler_;  // may be null; refers to the tenants
  Extensions extensions_;                   // refers to the tenants
  limit::Ns looked_{-kRest};
  limit::Ns beat_{-kBeat};
  bool awake_ = false;
  // A latency-critical tenant that waits sends a notice, which brings the next step forward.
  // Between two steps that were due at most kHurried are brought forward, because a tenant may send
  // notices without end.
  static constexpr int kHurried = 4;
  int hurried_left_ = kHurried;
  bool hurried_ = false;
  limit::Ns next_step_{0};
  tenant::SlotReading reading_;  // reused for every reading
  // Lending adds up what all processes charge. Processes may come and go without end, so at most
  // kLends of kLendsIn are made for them.
  static constexpr int kLends = 8;
  static constexpr limit::Ns kLendsIn = std::chrono::milliseconds(10);
  int lends_left_ = kLends;
  limit::Ns lends_since_{0};
  bool lend_again_ = false;
  limit::Ns last_work_{0};
};

}  // namespace tranche::arbiter
