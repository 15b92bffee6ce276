#include "kube/server_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace tranche::kube {
namespace {

bool is_port(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > 5 || !std::ranges::all_of(text, is_digit)) return false;
  const int value = std::atoi(std::string(text).c_str());
  return value > 0 && value < 65536;
}

bool is_host(std::string_view text, bool brackets) {
  const auto allowed = [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_' || (brackets && c == ':');
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

bool is_path(std::string_view text) {
  const auto allowed = [](char c) { return c > ' ' && c <= '~' && c != '?' && c != '#'; };
  return std::ranges::all_of(text, allowed);
}

std::unexpected<Error> refuse(std::string_view text) {
  return fail(Code::kInvalidArgument, fmt::format("\"{}\" is no address of an API server", text),
              "write https://host:port");
}

}  // namespace

std::string ServerUrl::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string ServerUrl::to_string() const {
  return fmt::format("{}://{}{}", tls ? "https" : "http", authority(), path);
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  ServerUrl url;
  auto rest = text;
  url.tls = rest.starts_with("https://");
  if (!url.tls && !rest.starts_with("http://")) return refuse(text);
  rest.remove_prefix(url.tls ? 8 : 7);
  const auto slash = std::min(rest.find('/'), rest.size());
  auto path = rest.substr(slash);
  rest = rest.substr(0, slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  url.path = path;
  const bool brackets = rest.starts_with('[');
  const auto host_end = brackets ? rest.find(']') : std::min(rest.find(':'), rest.size());
  if (host_end == std::string_view::npos) return refuse(text);
  url.host = brackets ? rest.substr(1, host_end - 1) : rest.substr(0, host_end);
  rest.remove_prefix(host_end + (brackets ? 1 : 0));
  url.port = url.tls ? "443" : "80";
  if (rest.starts_with(':')) {
    url.port = rest.substr(1);
    rest = {};
  }
  if (!rest.empty() || !is_port(url.port) || !is_host(url.host, brackets) || !is_path(path)) {
    return refuse(text);
  }
  return url;
}

}  // namespace tranche::kube
