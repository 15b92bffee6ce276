#pragma once
// The API server's address as written by people and in kubeconfig files.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::kube {

struct ServerUrl {
  bool tls = true;
  std::string host;  // an IPv6 address without brackets
  std::string port;  // "443"
  std::string path;  // "" or "/k8s/clusters/c-1"

  // "https://[::1]:6443/path"; the default port is omitted.
  std::string to_string() const;
  // "host:port" with brackets where needed.
  std::string authority() const;
};

// kInvalidArgument unless `text` is http:// or https:// with a host, and has no user, query or
// fragment.
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace tranche::kube
