#include "arbiter/kernel/extension.h"

#include "arbiter/kernel/kernel_limits.h"
#include "arbiter/kernel/nvml_memory_limiter.h"

namespace tranche::arbiter::kernel {

MakeExtension extension(const std::shared_ptr<nvml::Connection>& driver) {
  return [limiter = std::make_shared<NvmlMemoryLimiter>(driver)](const ExtensionContext& context) {
    return KernelLimits::open(limiter, context);
  };
}

}  // namespace tranche::arbiter::kernel
