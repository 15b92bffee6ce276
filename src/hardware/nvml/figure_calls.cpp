#include "nvml/figure_calls.h"

namespace tranche::nvml {

std::optional<Device> FigureCalls::find(const std::string& uuid) {
  const auto& function = api().nvmlDeviceGetHandleByUUID;
  Device device = nullptr;
  const Return result = ask(function, uuid.c_str(), &device);
  if (result == kSuccess) return device;
  loss_ = result;
  failure_ = call_.describe(function.name, result);
  return std::nullopt;
}

std::vector<MigHandle> mig_handles(FigureCalls& call, Device gpu) {
  const Api& api = call.api();
  std::vector<MigHandle> handles;
  unsigned mode = 0;
  unsigned pending = 0;
  unsigned slots = 0;
  if (!call.tells(api.nvmlDeviceGetMigMode, gpu, &mode, &pending) || mode != kMigEnabled ||
      !call.tells(api.nvmlDeviceGetMaxMigDeviceCount, gpu, &slots)) {
    return handles;
  }
  for (unsigned slot = 0; slot < slots && call.loss() == kSuccess; ++slot) {
    Device device = nullptr;
    char uuid[kStringSize] = {};
    if (call.tells(api.nvmlDeviceGetMigDeviceHandleByIndex, gpu, slot, &device) &&
        call.tells(api.nvmlDeviceGetUUID, device, uuid, kStringSize)) {
      handles.push_back({device, text(uuid)});
    }
  }
  return handles;
}

std::optional<std::uint64_t> read_field(FigureCalls& call, Device device, std::uint32_t field_id) {
  FieldValue field = {};
  field.field_id = field_id;
  if (!call.tells(call.api().nvmlDeviceGetFieldValues, device, 1, &field)) return std::nullopt;
  if (field.result != kSuccess) return std::nullopt;
  switch (field.value_type) {
    case kValueUnsignedInt:
      return field.value.as_uint;
    case kValueUnsignedLong:
    case kValueUnsignedLongLong:
      return field.value.as_ulong;
    default:
      return std::nullopt;
  }
}

}  // namespace tranche::nvml
