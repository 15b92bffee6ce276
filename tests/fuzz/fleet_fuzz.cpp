// What an agent answers to the controller (usage/v1), and a controller to whoever asks it
// (fleet/v1). What is read is written and read again as the same; why it cannot be read is a line
// of printable text.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "controller/web/visible.h"
#include "fleet/fleet_json.h"
#include "usage/node_usage_json.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_printable(const Error& error) {
  const auto text = error.message();
  require(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto usage = usage::parse_node_usage(text);
  if (usage) {
    require(usage::parse_node_usage(usage::to_json(*usage)) == *usage);
    require(usage::bytes_of(*usage) >= sizeof(*usage));
  } else {
    require_printable(usage.error());
  }
  const auto fleet = fleet::parse_fleet(text);
  if (!fleet) {
    require_printable(fleet.error());
    return 0;
  }
  require(fleet::parse_fleet(fleet::to_json(*fleet)) == *fleet);
  const auto hidden = controller::visible(*fleet, [](const std::string&) { return false; });
  require(controller::namespaces_of(hidden).empty());
  return 0;
}
