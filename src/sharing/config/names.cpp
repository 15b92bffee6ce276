#include "config/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "config/go_values.h"

namespace tranche::config {
namespace {

constexpr std::size_t kMaxResourceName = 63;
constexpr std::size_t kMaxObjectName = 253;

// An unsigned number of 64 bits.
bool is_digits(std::string_view text) {
  std::uint64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return !text.empty() && error == std::errc() && stop == end;
}

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// RFC 1123 label: [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_label(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// "<uuid>/<gpu instance>/<compute instance>", the old spelling of a MIG device.
bool is_old_mig_name(std::string_view text) {
  const auto first = text.find('/');
  if (first == std::string_view::npos) return false;
  const auto second = text.find('/', first + 1);
  if (second == std::string_view::npos) return false;
  return go::is_uuid(text.substr(0, first)) &&
         is_digits(text.substr(first + 1, second - first - 1)) &&
         is_digits(text.substr(second + 1));
}

}  // namespace

Result<ResourceName> parse_resource_name(std::string_view text) {
  std::string name(text);
  if (!name.starts_with(kResourcePrefix)) name.insert(0, kResourcePrefix);
  if (name.size() > kMaxResourceName) {
    return fail(Code::kInvalidArgument,
                fmt::format("resource name '{}' is longer than {} characters", name.substr(0, 80),
                            kMaxResourceName),
                "shorten it");
  }
  if (!is_subdomain(std::string_view(name).substr(kResourcePrefix.size()))) {
    return fail(Code::kInvalidArgument,
                fmt::format("incorrect format for resource name '{}': after '{}' only lower-case "
                            "letters, digits, '-' and '.' may stand, each part beginning and "
                            "ending with a letter or digit",
                            name, kResourcePrefix),
                "write a name such as nvidia.com/gpu or nvidia.com/mig-1g.5gb");
  }
  return ResourceName{std::move(name)};
}

bool is_object_name(std::string_view text) {
  return text.size() <= kMaxObjectName && is_subdomain(text);
}

bool is_device_item(std::string_view text) {
  if (text.starts_with("MIG-GPU-")) return is_old_mig_name(text.substr(8));
  if (text.starts_with("GPU-") || text.starts_with("MIG-")) return go::is_uuid(text.substr(4));
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return is_digits(text);
  return is_digits(text.substr(0, colon)) && is_digits(text.substr(colon + 1));
}

}  // namespace tranche::config
