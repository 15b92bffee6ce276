#pragma once
// The controller's Service as a user names it (--service), and how it is reached through the API
// server's service proxy.

#include <string>
#include <string_view>

namespace tranche {

struct ControllerService {
  std::string ns{};
  std::string name{};  // [SCHEME:]NAME[:PORT]; "": none is named
  bool operator==(const ControllerService&) const = default;
};

// The proxy keeps `Authorization` to itself: the reader's token is sent in this header too.
inline constexpr const char* kProxiedTokenHeader = "X-Tranche-Token";

// The API server's path of what the Service serves at `path` ("/v1/fleet").
inline std::string proxied(const ControllerService& service, std::string_view path) {
  return "/api/v1/namespaces/" + service.ns + "/services/" + service.name + "/proxy" +
         std::string(path);
}

}  // namespace tranche
