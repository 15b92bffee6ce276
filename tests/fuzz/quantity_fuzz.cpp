// Arbitrary text as a quantity, a number of bytes, a Go duration, a Go int, a resource name.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/quantity.h"
#include "config/go_values.h"
#include "config/names.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quantity = parse_quantity(text);
  const auto bytes = parse_bytes(text);
  require(bytes.has_value() == (quantity.has_value() && *quantity >= 0));
  if (bytes) require(bytes->value == static_cast<std::uint64_t>(*quantity));

  if (const auto duration = config::go::parse_duration(text)) {
    require(config::go::parse_duration(config::go::format_duration(*duration)) == duration);
  }
  if (const auto value = config::go::parse_int(text)) {
    require(config::go::parse_int(std::to_string(*value)) == value);
  }
  if (const auto name = config::parse_resource_name(text)) {
    require(name->value.size() <= 63);
    require(config::parse_resource_name(name->value) == name);
  }
  return 0;
}
