#pragma once
// An agent's request to the controller to evict Pods of its node: those that use a limited device
// past the limiter, where the node's configuration says `unregistered: evict`.
//
// The agent's token may only write its own Node, so the request is an annotation of that Node
// (docs/schemas/evict-requests-v1.schema.json). An additional label lets the controller watch the
// Nodes that have one:
//
// {"version":"evict-requests/v1","writtenAt":"<RFC 3339>","pods":[{"namespace":...,"name":...,
// "uid":...,"container":...,"device":...,"reason":"unregistered"}]}
//
// The agent renews its request at least once a minute (kRefresh). The controller ignores an old
// one: the agent that wrote it is gone, and it is unknown whether the Pods must still be evicted.
// The controller does not trust the text either: it asks the API server about each Pod.

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
    kUnregistered,  // a process of a limited container that bypasses the limiter
    kNoGrant,       // a process on a device that the Pod was not granted
  };
  std::string ns;
  std::string name;
  std::string uid;
  std::string container;  // "": unknown
  std::string device;     // "GPU-..."
  Reason reason = Reason::kUnregistered;
  bool operator==(const EvictionRequest&) const = default;
};

struct EvictionRequests {
  static constexpr std::size_t kMost = 16;                         // of one node
  static constexpr std::size_t kLongest = std::size_t{16} << 10U;  // bytes of text
  static constexpr std::chrono::minutes kRefresh{1};
  // An older request is ignored: the agent that wrote it is gone.
  static constexpr std::chrono::minutes kValid{5};

  WallTime written_at;
  std::vector<EvictionRequest> pods;
  bool operator==(const EvictionRequests&) const = default;
};

std::string_view to_string(EvictionRequest::Reason reason);  // "unregistered", "no-grant"

// At most kMost of them.
std::string encode(const EvictionRequests& requests);
// kInvalidArgument: not evict-requests/v1, too long or too many, or an invalid field.
Result<EvictionRequests> decode_eviction_requests(std::string_view text);

}  // namespace tranche::cluster
