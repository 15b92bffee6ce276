#pragma once
// A listening TCP socket.

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::http {

struct Listener {
  Descriptor socket;  // non-blocking
  std::uint16_t port = 0;
};

// `address`: numeric, such as "127.0.0.1"; empty: all addresses, including IPv6 where available.
// `port`: 0 for any free one.
Result<Listener> listen_on(const std::string& address, std::uint16_t port);

}  // namespace tranche::http
