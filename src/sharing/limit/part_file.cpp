#include "limit/part_file.h"

#include "fmt/format.h"
#include "limit/part_format.h"

namespace tranche::limit {

std::string part_file_of(const TenantLimits& limits) {
  std::string text = fmt::format("{}\n", part_format::kFirstLine);
  if (!is_held(limits)) return text;
  for (const DeviceLimits& device : limits.devices) {
    text += device.memory ? fmt::format("{} {}\n", device.uuid, device.memory->value)
                          : fmt::format("{} {}\n", device.uuid, part_format::kAll);
  }
  return text;
}

}  // namespace tranche::limit
