#pragma once
// Compares what tenants' processes charge with what NVML counts, each second while they have
// processes, and soon after one made a context or ended: the rest goes into `outside` of the policy
// page (limit/untracked_memory.h), so that a process that charges nothing, or never registered,
// still finds its tenant full. Processes on a device that no tenant and no limit holds are
// findings.
//
// The same with GPU time: what NVML samples of a tenant's processes beside what the tenant was
// charged (limit/under_report.h). What is missing is charged, and its processes are findings. Not
// where an MPS server runs: its clients run at once, and samples of them add up to more than there
// was.
//
// Which process belongs to which tenant: arbiter/device_account.h.
//
// NVML is read on a thread of its own (arbiter/process_scanner.h); everything here runs on the
// loop's.

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
  // While no process has registered: only those that should have are looked for.
  static constexpr std::chrono::seconds kSeldom{5};
  // Between two readings at least, however much happens.
  static constexpr std::chrono::milliseconds kSoon{100};

  struct Options {
    std::filesystem::path tenants;
    FsRoot host;  // for /proc
  };
  // The arbiter's, asked for anew each time.
  struct Books {
    std::function<Sessions()> sessions;
    // GPU time charged to a tenant on its device `index`, and how to charge more.
    std::function<limit::Ns(const std::string& tenant, unsigned index)> charged;
    std::function<void(const std::string& tenant, unsigned index, limit::Ns)> correct;
  };

  // All outlive it.
  static Result<std::unique_ptr<Reconciler>> open(gpu::ProcessReader& reader,
                                                  const Options& options, process::Poller& poller,
                                                  const Clock& clock, const Log& log, Books books);
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;
  ~Reconciler();

  // What an earlier arbiter knew: it holds for those admitted later, until NVML is read.
  void remember(const limit::ArbiterStatus& before);
  // A tenant that came, before its processes do.
  void admit(TenantSession& session);
  void let_go(const std::string& tenant) { records_.erase(tenant); }

  // Called with each process of a tenant's container that is on a device and has not registered,
  // whenever it is seen.
  using OnStray = DeviceAccount::OnStray;
  void on_stray(OnStray handler) { on_stray_ = std::move(handler); }

  // Something happened that NVML will show.
  void hurry();
  // Asks, when it is time.
  void look();
  // Until look() has something to do.
  std::chrono::nanoseconds left() const;
  struct Count {
    unsigned asked = 0;
    unsigned taken = 0;
  };
  // How often NVML was asked, and its answer taken.
  Count count() const { return count_; }

  // Memory on a device of processes that belong to no tenant, when NVML was read last.
  std::uint64_t others_bytes(const std::string& device) const;

  // Its parts of the status: NVML, MPS servers, findings; of each tenant what is degraded, and
  // what it holds outside.
  void describe(limit::ArbiterStatus& status) const;

 private:
  // A tenant on one device.
  struct Part {
    limit::UntrackedMemory untracked;
    limit::UnderReport under{};
    std::optional<std::chrono::steady_clock::time_point> compared{};  // charges with samples, then
    limit::Ns charged{0};                                             // by then
    bool memory_untold = false;
    bool unread = false;
  };
  struct Device {
    bool unread = false;
    bool memory_untold = false;
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
  void take_devices(const ProcessScan& survey, const std::vector<gpu::DeviceProcesses>& devices);
  void compare_time(DeviceAccount& account);
  bool is_under_reported(const TenantSession& session) const;
  void settle(const DeviceAccount& account);
  void note_failure(const std::string& failure);
  void note_device(const std::string& uuid, const std::optional<Error>& failure,
                   const std::vector<Place>& places);

  std::unique_ptr<ProcessScanner> scanner_;
  const TenantFolder folder_;
  process::Poller& poller_;
  const Clock& clock_;
  const Log& log_;
  Books books_;
  OnStray on_stray_;
  Findings findings_;
  std::chrono::steady_clock::time_point asked_{};
  std::chrono::steady_clock::time_point due_{};
  Charges before_;  // the slots when NVML was asked
  std::map<std::string, std::vector<Part>> records_;
  std::map<std::string, Device> devices_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> remembered_;  // tenant, device
  std::string failure_;
  Count count_;
};

}  // namespace tranche::arbiter
