#pragma once
// Flags that say where a server listens.

#include <cstdint>
#include <string>
#include <string_view>

#include "config/programs/option_reader.h"

namespace tranche::config {

// A numeric one, of IPv4 or IPv6.
bool is_address(const std::string& text);

struct ListenAddress {
  std::string address;  // numeric, without brackets; empty: all addresses
  std::uint16_t port = 0;
  bool operator==(const ListenAddress&) const = default;
};

// "127.0.0.1:8443", "[::1]:8443", ":8443". Reports an error for any other text; `example`: a port
// for its remedy.
ListenAddress read_listen_address(OptionReader& reader, std::string_view flag,
                                  std::uint16_t example);

}  // namespace tranche::config
