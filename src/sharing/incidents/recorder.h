#pragma once
// The flight recorder: samples what all tenants of a node hold and do, and says when one was
// refused memory or got nothing from the GPU. Pure: the arbiter hands in readings and stores
// incidents.
//
// What a tenant's processes tell of themselves may be false. It can harm only the tenant itself: an
// incident has numbers cut to what can be, a tenant has at most one incident in kEach, and what it
// caused meanwhile is counted in the next one.
//
// Not thread-safe.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "incidents/history.h"
#include "incidents/incident.h"

namespace tranche::incidents {

// The last allocation of a tenant that failed.
struct Failure {
  unsigned device = 0;      // index among the tenant's
  std::uint64_t asked = 0;  // bytes; 0: unknown
  std::uint64_t held = 0;   // bytes; 0: unknown
  Ns at{0};                 // 0: there was none
  bool operator==(const Failure&) const = default;
};

struct DeviceReading {
  std::string device;                        // UUID
  std::optional<std::uint64_t> limit_bytes;  // at present
  Track::Totals totals;                      // `refused` is the tenant's
  std::optional<Ns> busy_since;  // begin of the oldest launch that has not ended, as told
};

struct TenantReading {
  std::string id;
  std::string resource;
  std::uint64_t refused = 0;  // allocations, by limit and driver
  Failure by_limit;
  Failure by_driver;
  std::vector<DeviceReading> devices;
};

struct NodeReading {
  std::vector<TenantReading> tenants;
  // Tenants of which is not known yet what they hold: an earlier arbiter's.
  std::vector<std::string> unsettled;
  // Bytes that processes of no tenant hold, by device.
  std::map<std::string, std::uint64_t> others;
};

class Recorder {
 public:
  // The least time between two incidents of a tenant.
  static constexpr std::chrono::seconds kEach{30};

  // `stall_after`: how long a tenant may be without GPU time, or a launch may last; 0: stalls are
  // not looked for.
  explicit Recorder(Ns stall_after) : stall_after_(stall_after) {}

  // Records a sample and returns what has happened since the last one, without ids. Tenants that
  // are not in `node` are forgotten. Fastest if tenants are in the order of their ids. `now` is
  // monotonic, and `wall` is the same moment.
  std::vector<Incident> take(const NodeReading& node, Ns now, cluster::WallTime wall);
  // What happened on `devices` at `at` (kXid): the holders of all of them. `now`, `wall`: as above.
  Incident describe_xid(const std::string& gpu, const std::vector<std::string>& devices,
                        std::uint64_t xid, cluster::WallTime at, Ns now,
                        cluster::WallTime wall) const;
  // Rings that are kept.
  std::size_t tracks() const { return tracks_; }

 private:
  struct Device {
    std::string device;
    std::optional<std::uint64_t> limit_bytes;
    std::unique_ptr<Track> track;  // nullptr: there are too many
    Track::Totals last;            // at the sample before
    std::size_t place = 0;         // in gpu_ns_
    // Since when it has waited without GPU time, and what others had got until then.
    std::optional<Ns> starved_since;
    std::uint64_t others_gpu_ns = 0;
    bool told_starved = false;
    std::optional<Ns> told_launch;  // begin of the long launch that was told
  };
  struct Tenant {
    std::string resource;
    std::vector<Device> devices;
    Ns failed_at{0};            // of the last failure that was told
    std::uint64_t refused = 0;  // by then
    std::optional<Ns> told;     // the last incident
    std::uint64_t sample = 0;   // the count of samples at its last one
  };
  struct Moment {
    Ns now;
    cluster::WallTime wall;
  };

  using Tenants = std::map<std::string, Tenant>;
  Tenants::iterator tenant_of(const TenantReading& reading, Tenants::iterator guess);
  void equip(const TenantReading& reading, Tenant& tenant);
  std::size_t place_of(const std::string& device);
  void forget_others();
  std::optional<Failure> new_failure(const TenantReading& reading, const Tenant& tenant,
                                     Ns now) const;
  // What each finds is told or, if the tenant must wait for kEach, found again later.
  std::optional<Incident> find_failure(const TenantReading& reading, Tenant& tenant,
                                       Moment moment) const;
  std::optional<Incident> find_stall(const TenantReading& reading, Tenant& tenant, Moment moment);
  void follow_waiting(Device& device, const DeviceReading& reading, Ns now) const;
  std::uint64_t gpu_ns_of_others(const Device& device, const DeviceReading& reading) const;
  void add_holders(Incident& incident, const std::vector<std::string>& devices, Ns at) const;
  Holder holder_of(const std::string& id, const Tenant& tenant, const Device& device, Ns at) const;

  Ns stall_after_;
  std::optional<Ns> began_;
  SampleTimes times_;
  Tenants tenants_;
  std::set<std::string> unsettled_;              // or were so
  std::map<std::string, std::uint64_t> others_;  // by device
  std::map<std::string, std::size_t> places_;    // in gpu_ns_, by device
  std::vector<std::uint64_t> gpu_ns_;            // of all tenants
  std::size_t tracks_ = 0;
};

}  // namespace tranche::incidents
