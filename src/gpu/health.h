#pragma once
// Which devices may be handed out. A pure function of XID events, readings and time.
//
// Policy (docs/health.md says it to users):
// - An XID that is not an application's own fault (ignored: 13, 31, 43, 45, 68, 109, and what
//   DP_DISABLE_HEALTHCHECKS names; DP_ENABLE_HEALTHCHECKS puts numbers back) makes the named GPU
//   and its MIG instances unhealthy, or only the MIG instances it names. Every tranche of an
//   unhealthy device is unhealthy. An XID whose GPU the driver cannot name counts for every GPU.
// - A GPU that is lost, or whose driver calls hang, is unhealthy while that lasts; so is one for
//   which the driver asks a reset or reboot (unless health checks are disabled altogether).
// - Recovery: when the GPU answered after the XID, no such XID came for `quiet` and the driver asks
//   for no recovery action (where it can tell). XIDs that need a reset (needs_reset) recover only
//   after the GPU was seen lost and back, or when the driver reports its recovery action and it is
//   none.
// - A full re-registration (SIGHUP, agent start) forgets what was seen, as NVIDIA's plugin does.
//
// Not thread-safe: one owner. Memory is bounded by the hardware: events of one place and one kind
// of recovery are one fault, the newest.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/events.h"
#include "gpu/machine.h"

namespace tranche::gpu {

struct XidPolicy {
  bool ignore_all = false;            // DISABLE=all or xids
  bool count_all = false;             // ENABLE=all
  std::set<std::uint64_t> ignored;    // applications' own faults and what DISABLE names
  std::set<std::uint64_t> counted;    // what ENABLE names
  std::vector<std::string> warnings;  // malformed entries, for the log

  bool counts(std::uint64_t xid) const {
    return count_all || counted.contains(xid) || (!ignore_all && !ignored.contains(xid));
  }
  // Whether any XID can count at all; when not, nobody needs to listen.
  bool listens() const { return count_all || !counted.empty() || !ignore_all; }
};

// From the values of DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS: comma lists of XIDs,
// case-insensitive; `all` or `xids` disables every check, `all` enables every XID. An enable list
// wins over `DISABLE=all` for the XIDs it names.
XidPolicy make_xid_policy(std::string_view disable, std::string_view enable);

// Whether NVIDIA's XID catalogue asks for a reset or reboot after this XID, so that time alone
// heals nothing.
bool needs_reset(std::uint64_t xid);

// Why a device is unhealthy; absent = healthy. Keyed by device UUID (GPU or MIG).
using HealthReport = std::map<std::string, std::string>;

class HealthTracker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit HealthTracker(XidPolicy policy,
                         std::chrono::milliseconds quiet = std::chrono::minutes(5));

  void on_xid(const XidEvent& event, TimePoint now);
  void on_reading(const Machine& machine, TimePoint now);
  // Forgets XIDs (not readings).
  void forget();

  // For the devices of `machine` (the last reading): GPUs and MIG instances.
  HealthReport report(const Machine& machine, TimePoint now) const;
  // When `report` may change by time alone; nullopt: not before the next event or reading.
  std::optional<TimePoint> next_change(TimePoint now) const;

 private:
  // Where an event happened and how it heals; the newest event of each is kept.
  struct Place {
    std::optional<GpuUuid> gpu;
    std::optional<int> gpu_instance_id;
    std::optional<int> compute_instance_id;
    bool needs_reset = false;
    auto operator<=>(const Place&) const = default;
  };
  struct Fault {
    std::uint64_t xid = 0;
    TimePoint at;
  };
  bool recovered(const Place& place, const Fault& fault, const Gpu& gpu, TimePoint now) const;
  std::string gpu_reason(const Gpu& gpu, TimePoint now) const;
  std::string instance_reason(const Gpu& gpu, const MigInstance& instance, TimePoint now) const;
  std::string describe(const Place& place, const Fault& fault) const;

  XidPolicy policy_;
  std::chrono::milliseconds quiet_;
  std::map<Place, Fault> faults_;
  std::map<GpuUuid, TimePoint> last_lost_;
  std::optional<TimePoint> last_reading_;
};

}  // namespace tranche::gpu
