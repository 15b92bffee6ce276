#pragma once
// A listening TCP socket.

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::http {

struct Listener {
  Descriptor socket;  // does not block
  std::uint16_t port = 0;
};

// `address`: a number such as "127.0.0.1"; empty: all addresses, of IPv6 too where the machine has
// it. `port`: 0 for any that is free.
Result<Listener> listen_on(const std::string& address, std::uint16_t port);

}  // namespace tranche::http
