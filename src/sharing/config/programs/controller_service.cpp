#include "config/programs/controller_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "config/names.h"

namespace tranche::config {
namespace {

// It becomes part of a path.
bool is_service(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
  });
}

}  // namespace

ControllerService read_controller_service(OptionReader& reader) {
  const auto text = reader.get<std::string>("service");
  if (text.empty()) return {};
  const auto slash = std::min(text.find('/'), text.size());
  ControllerService service{.ns = text.substr(0, slash),
                            .name = text.substr(std::min(slash + 1, text.size()))};
  if (is_object_name(service.ns) && is_service(service.name)) return service;
  reader.error("service", fmt::format("'{}' names no Service", text.substr(0, 80)),
               "write NAMESPACE/NAME:PORT, such as tranche/tranche-controller-web:web");
  return {};
}

}  // namespace tranche::config
