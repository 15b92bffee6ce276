#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "lab/kubelet/registration_server.h"

namespace tranche::lab {

namespace {

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Kubernetes' qualified name after the slash: 1 to 63 of [-A-Za-z0-9_.], alphanumeric at the ends.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && is_alnum(name.front()) && is_alnum(name.back()) &&
         std::ranges::all_of(
             name, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_label(std::string_view label) {
  const auto plain = [](char c) { return is_alnum(c) && !(c >= 'A' && c <= 'Z'); };
  return !label.empty() && label.size() <= 63 && plain(label.front()) && plain(label.back()) &&
         std::ranges::all_of(label, [&](char c) { return plain(c) || c == '-'; });
}

// A DNS subdomain (RFC 1123). `room`: how many characters it may have.
bool is_subdomain(std::string_view text, std::size_t room) {
  if (text.size() > room) return false;
  while (true) {
    const auto dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// A qualified name outside kubernetes.io whose quota name, "requests." before it, is one too.
bool is_extended_resource(std::string_view name) {
  constexpr std::string_view kQuotaPrefix = "requests.";
  const auto slash = name.find('/');
  if (slash == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos ||
      name.starts_with(kQuotaPrefix))
    return false;
  return is_subdomain(name.substr(0, slash), 253 - kQuotaPrefix.size()) &&
         is_name(name.substr(slash + 1));
}

}  // namespace

Result<void> check_registration(const RegistrationServer::Request& request) {
  if (request.version != "v1beta1")
    return fail(Code::kInvalidArgument,
                fmt::format("requested API version \"{}\" is not supported by kubelet. Supported "
                            "version is [\"v1beta1\"]",
                            request.version));
  if (!is_extended_resource(request.resource))
    return fail(Code::kInvalidArgument,
                fmt::format("the ResourceName \"{}\" is invalid", request.resource));
  return {};
}

}  // namespace tranche::lab
