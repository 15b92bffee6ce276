#pragma once
// What the container runtime's hook (hook/) and the arbiter say to each other about a container
// that is about to start: one packet there, one back, over the socket kStartSocket in the tenants'
// folder, which root alone may connect to. JSON, because both ends may be of different releases for
// a while: keys that are not known are passed over.
//
//   {"version":"limit-start/v1","pid":4242,"tenants":["0d9c..."],"preload":"libfoo.so","waits":true}
//   {"version":"limit-start/v1","mayStart":false,"reason":"the driver refuses"}

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::limit {

inline constexpr std::string_view kStartSocket = "start.sock";
inline constexpr std::size_t kLargestStartPacket = 8192;
// Tenants of one container: one for each of its limited resources.
inline constexpr std::size_t kMostTenants = 32;
inline constexpr std::size_t kLongestPreload = 512;

struct StartNotice {
  pid_t pid = 0;  // the container's first process, on the host; it waits for the hook's end
  std::vector<std::string> tenants;
  std::string preload;  // libraries that the image's own /etc/ld.so.preload names; "": none
  bool waits = false;   // until the kernel keeps what the tenants were promised
  bool operator==(const StartNotice&) const = default;
};

struct StartAnswer {
  bool may_start = true;
  std::string reason;  // why not
  bool operator==(const StartAnswer&) const = default;
};

std::string encode(const StartNotice& notice);
std::string encode(const StartAnswer& answer);
// kInvalidArgument: not limit-start/v1, or a value out of range.
Result<StartNotice> decode_start_notice(std::string_view text);
Result<StartAnswer> decode_start_answer(std::string_view text);

// Whether it can be a tenant's id: a file name without surprises.
bool is_tenant_id(std::string_view text);
// `text` with what is not printable ASCII replaced, at most `most` bytes of it.
std::string printable(std::string_view text, std::size_t most);

}  // namespace tranche::limit
