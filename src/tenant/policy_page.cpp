#include "tenant/policy_page.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
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
  Descriptor fd(memfd_create("tranche-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open()) return std::unexpected(errno_error(errno, "memfd_create"));
  constexpr std::size_t kSize = sizeof(wire::PolicyPage);
  if (ftruncate(fd.get(), kSize) != 0) return std::unexpected(errno_error(errno, "ftruncate"));
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return std::unexpected(errno_error(errno, "mmap of a policy page"));
  auto* page = new (memory) wire::PolicyPage{};
  PolicyPage result(std::move(fd), page);

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
  constexpr int kSeals = F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (fcntl(result.fd(), F_ADD_SEALS, kSeals) != 0) {
    return fail(Code::kUnsupported,
                fmt::format("this kernel does not seal a policy page: {}", std::strerror(errno)),
                "Linux 5.1 or later is needed; without it a container could raise its own limits");
  }
  return result;
}

PolicyPage::~PolicyPage() {
  if (page_ != nullptr) munmap(page_, sizeof(wire::PolicyPage));
}

}  // namespace tranche::tenant
