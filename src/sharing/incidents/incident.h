#pragma once
// What happened on a GPU, and what its holders did in the minute before: values. The arbiter's
// flight recorder makes them (incidents/recorder.h), the agent adds the names of Pods and tells
// Events, `tranche incident` shows them (docs/incidents.md).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/time.h"

namespace tranche::incidents {

enum class Cause {
  kLimit,       // out of memory: the container's limit refused an allocation
  kDevice,      // out of memory: the driver refused one within the limit; the device is full
  kStarved,     // stall: the container waited for the GPU and got no time, while others did
  kLongLaunch,  // stall: one launch does not end
  kXid,         // the driver reported an error of the GPU
};

// A container, by name. Empty as far as it is unknown.
struct PodName {
  std::string ns;
  std::string pod;
  std::string uid;
  std::string container;
  bool operator==(const PodName&) const = default;
};

// One second of a container on a device.
struct Second {
  unsigned before = 0;           // whole seconds before the incident; 0: the last one
  std::uint64_t held_bytes = 0;  // the most that it held
  std::uint64_t launches = 0;
  std::uint64_t gpu_ms = 0;     // GPU time charged
  std::uint64_t asked_ms = 0;   // GPU time asked for, by its processes' own account
  std::uint64_t waited_ms = 0;  // with a thread that waited for the GPU
  std::uint64_t refused = 0;    // allocations, on all its devices
  bool operator==(const Second&) const = default;
};

// The growth of what it holds, within the time that was recorded.
struct Growth {
  std::uint64_t bytes = 0;
  std::uint64_t before_ms = 0;  // how long before the incident most of it came
  bool operator==(const Growth&) const = default;
};

struct Holder {
  std::string tenant;    // empty: it has no limits, and the arbiter does not know it
  std::string resource;  // empty: unknown
  PodName pod;
  std::optional<std::uint64_t> limit_bytes;  // nullopt: none, or unknown
  std::optional<std::uint64_t> held_bytes;   // nullopt: unknown
  Growth growth;
  std::vector<Second> seconds;  // at most kWindow, oldest first; empty: not recorded
  bool operator==(const Holder&) const = default;
};

struct Incident {
  // How much is recorded and kept.
  static constexpr unsigned kWindow = 60;          // seconds
  static constexpr std::size_t kMostHolders = 32;  // those who hold or grew most, and the victim

  std::string id;  // name of its file, is_id()
  Cause cause = Cause::kLimit;
  cluster::WallTime at{};
  std::string device;  // UUID of the GPU or MIG instance
  std::string tenant;  // the victim; empty with kXid
  // Of the last allocation that failed, as the victim's own process tells it; nullopt: unknown.
  std::optional<std::uint64_t> asked_bytes;
  std::optional<std::uint64_t> held_bytes;
  std::uint64_t times = 1;         // failed allocations since the victim's incident before
  std::uint64_t stalled_ms = 0;    // with kStarved, kLongLaunch
  std::uint64_t xid = 0;           // with kXid
  std::uint64_t others_bytes = 0;  // of the device, held by processes of no holder
  unsigned left_out = 0;           // holders that are not listed
  std::vector<Holder> holders;     // the victim first, then those who grew, then by what they hold
  bool operator==(const Incident&) const = default;

  // nullptr: there is none, or it is not listed.
  const Holder* victim() const;
};

// "out-of-memory", "stall", "xid".
std::string_view kind_of(Cause cause);
// "limit", "device", "starved", "long-launch", "xid".
std::string_view to_string(Cause cause);
std::optional<Cause> cause_of(std::string_view word);
bool is_out_of_memory(Cause cause);

// Lower-case letters, digits and '-', at most 64: safe as the name of a file.
bool is_id(std::string_view text);
// "20261128-154301-xid-79": of the time in UTC. `number` tells those of one second apart; 0: none.
std::string make_id(cluster::WallTime at, Cause cause, unsigned number);

// The victim first, then those who grew most, then those who hold most; cuts to kMostHolders.
void put_in_order(Incident& incident);

}  // namespace tranche::incidents
