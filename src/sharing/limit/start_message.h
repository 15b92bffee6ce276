#pragma once
// The messages between the container runtime's hook (hook/) and the arbiter about a container that
// is about to start. The hook sends one packet and the arbiter replies with one, over the socket
// kStartSocket in the tenants' folder. Only root may connect to it. The format is JSON, because the
// two programs may be of different releases for a while: unknown keys are ignored.
//
// clang-format off
// Example (JSON):
//   {"version":"limit-start/v1","pid":4242,"tenants":["0d9c..."],"preload":"libfoo.so",
//    "waits":true}
//   {"version":"limit-start/v1","mayStart":false,"reason":"the driver refuses"}
// clang-format on

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::limit {

inline constexpr std::string_view kStartSocket = "start.sock";
inline constexpr std::size_t kLargestStartPacket = 8192;
// The most tenants of one container: one for each of its limited resources.
inline constexpr std::size_t kMostTenants = 32;
inline constexpr std::size_t kLongestPreload = 512;

struct StartNotice {
  pid_t pid = 0;  // the container's first process, on the host; blocked until the hook ends
  std::vector<std::string> tenants;
  std::string preload;  // libraries listed in the image's own /etc/ld.so.preload; "": none
  bool waits = false;   // the hook waits until the kernel enforces the limits
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

// Whether `text` can be a tenant's id: a plain file name.
bool is_tenant_id(std::string_view text);

}  // namespace tranche::limit
