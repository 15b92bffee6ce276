#include "tenant/policy_page.h"

#include <fcntl.h>

#include <cstring>
#include <new>

#include "fmt/format.h"

namespace tranche::tenant {

using namespace limit;

Result<PolicyPage> PolicyPage::create(std::span<const Uuid> devices) {
  if (devices.size() > wire::kMaxDevices) {
    return fail(Code::kInvalidArgument, fmt::format("{} devices for one container; {} at most",
                                                    devices.size(), wire::kMaxDevices));
  }
  constexpr std::size_t kSize = sizeof(wire::PolicyPage);
  ASSIGN_OR_RETURN(SealedMemory memory,
                   SealedMemory::create("tranche-policy", kSize, F_SEAL_FUTURE_WRITE));
  auto* page = new (memory.data()) wire::PolicyPage{};
  page->magic = wire::kPolicyMagic;
  page->version = wire::kVersion;
  page->size = kSize;
  page->device_count = static_cast<std::uint16_t>(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    wire::DevicePolicy& device = page->devices[i];
    std::memcpy(device.uuid, devices[i], sizeof(device.uuid));
    device.memory_limit = wire::kNoLimit;
    device.memory_view = wire::kNoLimit;
    device.allowed_ns = wire::kNoLimit;
  }
  return PolicyPage(std::move(memory), page);
}

}  // namespace tranche::tenant
