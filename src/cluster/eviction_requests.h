#pragma once
// What an agent asks of the controller: which Pods of its node are to be evicted, because they use
// a limited device past the limiter and the node's configuration says `unregistered: evict`. An
// annotation of the agent's own Node, which is all that its token may write, and a label by which
// the controller watches those Nodes alone (docs/schemas/evict-requests-v1.schema.json):
//
// {"version":"evict-requests/v1","writtenAt":"<RFC 3339>","pods":[{"namespace":...,"name":...,
//  "uid":...,"container":...,"device":...,"reason":"unregistered"}]}
//
// Written anew at least once a minute while it stands, so that what an agent asked for that is gone
// is not done later. The reader trusts none of it: it asks the API server about each Pod.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/time.h"

namespace tranche::cluster {

inline constexpr const char* kEvictRequestsAnnotation = "tranche.dev/evict-requests";
inline constexpr const char* kEvictRequestsLabel = "tranche.dev/evict-requests";
inline constexpr const char* kEvictRequestsLabelValue = "open";

struct EvictionRequest {
  enum class Reason {
    kUnregistered,  // a process of a limited container that the limiter does not hold
    kNoGrant,       // a process on a device that the Pod was not granted
  };
  std::string ns;
  std::string name;
  std::string uid;
  std::string container;  // "": not known
  std::string device;     // "GPU-..."
  Reason reason = Reason::kUnregistered;
  bool operator==(const EvictionRequest&) const = default;
};

struct EvictionRequests {
  static constexpr std::size_t kMost = 16;                         // of one node
  static constexpr std::size_t kLongest = std::size_t{16} << 10U;  // bytes of text
  static constexpr std::chrono::minutes kRefresh{1};
  // Older ones are nobody's any more: the agent that asked is gone.
  static constexpr std::chrono::minutes kValid{5};

  WallTime written_at;
  std::vector<EvictionRequest> pods;
  bool operator==(const EvictionRequests&) const = default;
};

std::string_view to_string(EvictionRequest::Reason reason);  // "unregistered", "no-grant"

// At most kMost of them.
std::string encode(const EvictionRequests& requests);
// kInvalidArgument: not evict-requests/v1, too long or too many, or a field that cannot be one.
Result<EvictionRequests> decode_eviction_requests(std::string_view text);

}  // namespace tranche::cluster
