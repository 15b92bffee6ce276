#include "config/programs/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tranche::config {

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

ListenAddress read_listen_address(OptionReader& reader, std::string_view flag,
                                  std::uint16_t example) {
  const auto text = reader.get<std::string>(flag);
  const auto colon = text.rfind(':');
  const auto number = colon == std::string::npos ? "" : text.substr(colon + 1);
  ListenAddress listen{.address = text.substr(0, std::min(colon, text.size()))};
  auto& address = listen.address;
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  const auto read = std::from_chars(number.data(), number.data() + number.size(), listen.port);
  const bool is_port = read.ec == std::errc() && read.ptr == number.data() + number.size();
  if (!is_port || !(address.empty() || is_address(address))) {
    reader.error(flag, fmt::format("'{}' is no address and port", text.substr(0, 80)),
                 fmt::format("write one such as :{0}, 127.0.0.1:{0} or [::1]:{0}", example));
  }
  return listen;
}

}  // namespace tranche::config
