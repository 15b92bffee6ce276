#pragma once
// Compares the memory that tenants' processes charge with the memory that NVML counts. It does so
// each second while a process is registered, and soon after a process created a context or ended.
// The difference goes into `outside` of the policy page (limit/untracked_memory.h). So memory fills
// the tenant's part even if the process that holds it charges nothing or never registered. A
// process on a device without a tenant and without a limit is a finding.
//
// It compares GPU time too: the time that NVML samples of a tenant's processes with the time that
// the tenant was charged (limit/under_report.h). Missing time is charged, and the processes are
// findings. This is not done on a device with an MPS server: its clients run concurrently, so their
// samples add up to more than the elapsed time. A tenant whose own count of what it asked for is
// false (limit/asked_time.h) is found everywhere.
//
// arbiter/device_account.h decides which process belongs to which tenant.
//
// A process that lost its connection and that NVML no longer lists has no contexts: it runs another
// program (exec). It is dropped at once if NVML has listed it before.
//
// NVML is read on a separate thread (arbiter/process_scanner.h). Everything here runs on the loop's
// thread.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arbiter/device_account.h"
#include "arbiter/findings.h"
#include "arbiter/process_scanner.h"
#include "arbiter/tenant_session.h"
#include "base/clock.h"
#include "limit/arbiter_status.h"
#include "limit/under_report.h"
#include "limit/untracked_memory.h"
#include "process/poller.h"

namespace tranche::arbiter {

class Reconciler {
 public:
  static constexpr std::chrono::seconds kEach{1};
  // The interval while no process is registered. Then the readings only find processes that should
  // have registered.
  static constexpr std::chrono::seconds kSeldom{5};
  // The shortest time between two readings, whatever happens.
  static constexpr std::chrono::milliseconds kSoon{100};

  struct Options {
    std::filesystem::path tenants;
    std::filesystem::path mps_dir;  // the folder of the MPS control daemons, as mounted here
    FsRoot host;                    // for /proc
  };
  // Access to the arbiter's sessions and charges. The functions are called for every use.
  struct Books {
    std::function<Sessions()> sessions;
    // `charged`: GPU time charged to a tenant on its device `index`. `is_false`: its own count of
    // what it asked for there is false. `correct`: charges more.
    std::function<limit::Ns(const std::string& tenant, unsigned index)> charged;
    std::function<bool(const std::string& tenant, unsigned index)> is_false;
    std::function<void(const std::string& tenant, unsigned index, limit::Ns)> correct;
  };

  // The references must outlive it. kIo: the scanner's eventfd cannot be created.
  static Result<std::unique_ptr<Reconciler>> open(gpu::ProcessReader& reader,
                                                  const Options& options, process::Poller& poller,
                                                  const Clock& clock, const Log& log, Books books);
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;
  ~Reconciler();

  // Takes `outside` from the previous arbiter's status. It applies to tenants admitted later, until
  // NVML is read.
  void remember(const limit::ArbiterStatus& before);
  // Adds a new tenant, before any of its processes is served.
  void admit(TenantSession& session);
  void forget(const std::string& tenant) { records_.erase(tenant); }

  // `handler` is called with each process of a tenant's container that is on a device and has not
  // registered, at every reading that lists it.
  using OnStray = DeviceAccount::OnStray;
  void on_stray(OnStray handler) { on_stray_ = std::move(handler); }

  // Requests a reading soon, because something happened that NVML will show.
  void hurry();
  // Starts a reading if one is due.
  void look();
  // Time until look() has something to do.
  std::chrono::nanoseconds left() const;
  struct Count {
    unsigned asked = 0;
    unsigned taken = 0;
  };
  // How often NVML was queried, and how often its answer was taken.
  Count count() const { return count_; }

  // Bytes that processes of no tenant held on a device at the last reading.
  std::uint64_t others_bytes(const std::string& device) const;

  // Adds NVML's failure, MPS servers and findings; and for each tenant what is degraded and what it
  // holds outside its charges.
  void describe(limit::ArbiterStatus& status) const;

 private:
  // The record of a tenant on one device.
  struct Part {
    limit::UntrackedMemory untracked;
    limit::UnderReport under{};
    // When charges were last compared with samples.
    std::optional<std::chrono::steady_clock::time_point> compared{};
    limit::Ns charged{0};  // GPU time charged until then
    bool memory_unreported = false;
    bool unread = false;
    bool forged = false;  // a slot contains an impossible value
  };
  struct Device {
    bool unread = false;
    bool memory_unreported = false;
    std::uint64_t others_bytes = 0;
    std::vector<pid_t> mps_servers;
  };
  using Place = DeviceAccount::Place;
  using Charges = DeviceAccount::Charges;

  Reconciler(std::unique_ptr<ProcessScanner> scanner, const Options& options,
             process::Poller& poller, const Clock& clock, const Log& log, Books books);
  static Charges charges_of(const Sessions& sessions);
  static std::map<std::string, std::vector<Place>> places_of(const Sessions& sessions);
  Part& part_of(const Place& place);
  void take();
  // The tenants that processes of each container have registered for.
  static std::map<std::string, std::set<std::string>> containers_of(const Charges& charges,
                                                                    const ProcessScan& scan);
  void take_devices(const ProcessScan& scan, const std::vector<gpu::DeviceProcesses>& devices);
  void release_unlisted(const Sessions& sessions, const std::vector<gpu::DeviceProcesses>& devices);
  void compare_time(DeviceAccount& account);
  void add_findings(DeviceAccount& account, const ProcessScan& scan);
  bool is_trusted(const TenantSession& session) const;
  void settle(const DeviceAccount& account);
  void note_failure(const std::string& failure);
  void note_device(const std::string& uuid, const std::optional<Error>& failure,
                   const std::vector<Place>& places);

  std::unique_ptr<ProcessScanner> scanner_;
  const NodeFolder tenants_folder_;
  process::Poller& poller_;
  const Clock& clock_;
  const Log& log_;
  Books books_;
  OnStray on_stray_;
  Findings findings_;
  std::chrono::steady_clock::time_point asked_{};
  std::chrono::steady_clock::time_point due_{};
  Charges before_;  // read from the slots when NVML was asked
  // Tenant and pid of registered processes: without a connection when NVML was queried; listed by
  // it since they registered.
  std::set<std::pair<std::string, pid_t>> lost_before_;
  std::set<std::pair<std::string, pid_t>> listed_;
  std::map<std::string, std::vector<Part>> records_;
  std::map<std::string, Device> devices_;
  // Bytes outside, by tenant and device.
  std::map<std::pair<std::string, std::string>, std::uint64_t> remembered_;
  std::string failure_;
  Count count_;
};

}  // namespace tranche::arbiter
