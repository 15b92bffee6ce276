#pragma once
// Decides which devices may be allocated. A pure function of XID events, readings and time.
//
// Policy (for users: docs/health.md):
// - An XID makes the GPU that it names unhealthy, with all MIG instances of that GPU. If it names
//   MIG instances, it makes only these unhealthy. If the driver cannot name the GPU, the XID counts
//   for every GPU. Every tranche of an unhealthy device is unhealthy.
// - XIDs that are an application's own fault are ignored: 13, 31, 43, 45, 68, 109.
//   DP_DISABLE_HEALTHCHECKS adds numbers to these, DP_ENABLE_HEALTHCHECKS makes numbers count
//   again.
// - A GPU that is lost, or whose driver calls hang, is unhealthy while that lasts. So is a GPU for
//   which the driver asks for a reset or reboot, unless health checks are disabled altogether.
// - A device recovers when its GPU has answered after the XID, no such XID has come for `quiet`,
//   and the driver (where it can tell) asks for no recovery action. After an XID that needs a reset
//   (needs_reset) a device recovers only when the GPU was seen lost and back, or when the driver
//   reports a recovery action of "none".
// - A full re-registration (SIGHUP, agent start) forgets all XIDs, as in NVIDIA's plugin.
//
// Not thread-safe: one owner. The hardware bounds the memory: only the newest event per place and
// kind of recovery is kept.

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
  std::set<std::uint64_t> ignored;    // application faults and what DISABLE names
  std::set<std::uint64_t> counted;    // what ENABLE names
  std::vector<std::string> warnings;  // malformed entries, for the log

  bool counts(std::uint64_t xid) const {
    return count_all || counted.contains(xid) || (!ignore_all && !ignored.contains(xid));
  }
  // Whether any XID can count; if none can, there is no need to listen.
  bool listens() const { return count_all || !counted.empty() || !ignore_all; }
};

// The policy for the values of DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS: XIDs separated
// by commas, or a word in any case. `all` or `xids` in `disable` disables every check; `all` in
// `enable` makes every XID count. XIDs that `enable` names count even with `DISABLE=all`.
XidPolicy make_xid_policy(std::string_view disable, std::string_view enable);

// Whether NVIDIA's XID catalogue asks for a reset or reboot after this XID: a device does not
// recover from it by itself.
bool needs_reset(std::uint64_t xid);

// Why each unhealthy device is unhealthy, by device UUID (GPU or MIG). A device not listed is
// healthy.
using HealthReport = std::map<std::string, std::string>;

class HealthTracker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit HealthTracker(XidPolicy policy,
                         std::chrono::milliseconds quiet = std::chrono::minutes(5));

  void on_xid(const XidEvent& event, TimePoint now);
  void on_reading(const Machine& machine, TimePoint now);
  // Forgets all XIDs, and when GPUs were seen lost.
  void forget();

  // Covers the GPUs and MIG instances of `machine`, the latest reading.
  HealthReport report(const Machine& machine, TimePoint now) const;
  // When `report` may next change over time; nullopt: only an event or a reading can change it.
  std::optional<TimePoint> next_change(TimePoint now) const;

 private:
  // Where an event happened and how a device recovers from it. The newest event of each is kept.
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
