#pragma once
// The last XID of each GPU since the agent started, also of those that do not make it unhealthy;
// and the last ones of all GPUs, with their times.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tranche::agent {

struct LastXids {
  static constexpr std::size_t kMostRecent = 16;

  struct Xid {
    std::string gpu;  // UUID
    std::uint64_t xid = 0;
    std::chrono::system_clock::time_point at{};
    bool operator==(const Xid&) const = default;
  };
  std::map<std::string, std::uint64_t> by_gpu;  // by UUID
  std::vector<Xid> recent{};                    // oldest first, at most kMostRecent
  std::uint64_t count = 0;                      // of all XIDs
  bool operator==(const LastXids&) const = default;

  void note(const Xid& xid) {
    by_gpu[xid.gpu] = xid.xid;
    if (recent.size() == kMostRecent) recent.erase(recent.begin());
    recent.push_back(xid);
    ++count;
  }
};

}  // namespace tranche::agent
