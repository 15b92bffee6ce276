#include "nvml/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "nvml/mig.h"
#include "nvml/mig_geometry.h"
#include "nvml/reserved.h"
#include "nvml/words.h"

namespace tranche::nvml {
namespace {

// Fills answer.gpu step by step. If a step finds the GPU gone, the GPU is marked lost and the other
// steps are skipped.
class DeviceReading {
 public:
  DeviceReading(Calls& call, const DeviceQuery& query, DeviceAnswer& answer)
      : call_(call), api_(call.api()), query_(query), answer_(answer), gpu_(answer.gpu) {}

  void read() {
    if (!identify()) return;
    if (query_.known && query_.known->uuid == gpu_.uuid) known_ = &*query_.known;
    if (known_ != nullptr && query_.known_complete) {
      take_fixed(*known_);
    } else {
      read_fixed();
    }
    read_memory();
    read_mig();
    read_fabric();
    read_memory_limits();
    read_recovery_action();
    if (lost_ && known_ != nullptr) keep_description(*known_);
  }

 private:
  bool identify() {
    gpu_.index = query_.index;
    Return result = call_(api_.nvmlDeviceGetHandleByIndex_v2, static_cast<unsigned>(query_.index),
                          &answer_.handle);
    if (result != kSuccess) {
      answer_.failure = call_.describe("nvmlDeviceGetHandleByIndex_v2", result);
      return false;
    }
    char uuid[kStringSize] = {};
    result = call_(api_.nvmlDeviceGetUUID, answer_.handle, uuid, kStringSize);
    if (result != kSuccess) {
      answer_.failure = call_.describe("nvmlDeviceGetUUID", result);
      return false;
    }
    gpu_.uuid = {text(uuid)};
    answer_.identified = true;
    return true;
  }

  void take_fixed(const gpu::Gpu& known) {
    gpu_.name = known.name;
    gpu_.brand = known.brand;
    gpu_.addressing_mode = known.addressing_mode;
    gpu_.minor = known.minor;
    gpu_.pci = known.pci;
    gpu_.pci_ids = known.pci_ids;
    gpu_.compute_capability = known.compute_capability;
    gpu_.numa_node = known.numa_node;
    answer_.complete = true;
  }

  void read_fixed() {
    bool complete = true;
    char name[kStringSize] = {};
    if (told(call_(api_.nvmlDeviceGetName, answer_.handle, name, kStringSize),
             api_.nvmlDeviceGetName.name, "its name is unknown")) {
      gpu_.name = text(name);
    } else {
      complete = false;
    }
    unsigned minor = 0;
    gpu_.minor = -1;
    if (told(call_(api_.nvmlDeviceGetMinorNumber, answer_.handle, &minor),
             api_.nvmlDeviceGetMinorNumber.name, "its device node is unknown")) {
      gpu_.minor = static_cast<int>(minor);
    } else {
      complete = false;
    }
    PciInfo pci = {};
    if (told(call_(api_.nvmlDeviceGetPciInfo_v3, answer_.handle, &pci),
             api_.nvmlDeviceGetPciInfo_v3.name, "its PCI address is unknown")) {
      gpu_.pci = {.domain = pci.domain, .bus = pci.bus, .device = pci.device};
      gpu_.pci_ids = {.device = pci.pci_device_id, .subsystem = pci.pci_subsystem_id};
      const auto node = query_.host.read(gpu::numa_node_path(gpu_.pci));
      if (node) gpu_.numa_node = gpu::parse_numa_node(*node);
    } else {
      complete = false;
    }
    auto& capability = gpu_.compute_capability;
    told(call_(api_.nvmlDeviceGetCudaComputeCapability, answer_.handle, &capability.major,
               &capability.minor),
         api_.nvmlDeviceGetCudaComputeCapability.name, "its compute capability is unknown");
    read_kind();
    answer_.complete = complete && capability.major != 0;
  }

  // Only needed by claims. A driver that does not report it causes no warning.
  void read_kind() {
    unsigned brand = 0;
    if (is_told(call_(api_.nvmlDeviceGetBrand, answer_.handle, &brand),
                api_.nvmlDeviceGetBrand.name, "its brand is unknown")) {
      gpu_.brand = brand_text(brand);
    }
    AddressingMode mode = {.version = version_word<AddressingMode>(1)};
    if (is_told(call_(api_.nvmlDeviceGetAddressingMode, answer_.handle, &mode),
                api_.nvmlDeviceGetAddressingMode.name, "its addressing mode is unknown")) {
      gpu_.addressing_mode = addressing_text(mode.value);
    }
  }

  void read_memory() {
    if (lost_) return;
    Memory memory = {};
    Return result = call_(api_.nvmlDeviceGetMemoryInfo, answer_.handle, &memory);
    const char* name = api_.nvmlDeviceGetMemoryInfo.name;
    if (result == kFunctionNotFound) {
      MemoryV2 newer = {.version = version_word<MemoryV2>(2)};
      result = call_(api_.nvmlDeviceGetMemoryInfo_v2, answer_.handle, &newer);
      name = api_.nvmlDeviceGetMemoryInfo_v2.name;
      memory = {.total = newer.total, .free = newer.free, .used = newer.used};
    }
    if (told(result, name, "its memory is unknown")) {
      gpu_.memory = {memory.total};
      read_reserved_memory(memory);
    } else if (known_ != nullptr) {
      gpu_.memory = known_->memory;
      gpu_.reserved = known_->reserved;
    }
  }

  // If the driver does not report it, the first value stays: an estimate differs each time, and a
  // promise should not.
  void read_reserved_memory(const Memory& memory) {
    const auto found = read_reserved(call_, answer_.handle, memory);
    if (is_gone(found.result)) {
      return lose(call_.describe(api_.nvmlDeviceGetMemoryInfo_v2.name, found.result));
    }
    gpu_.reserved = found.memory;
    if (found.result == kSuccess) return;
    if (known_ != nullptr && known_->memory == gpu_.memory) {
      gpu_.reserved = known_->reserved;
    } else if (found.guessed) {
      warn(fmt::format(
          "how much of its memory the driver keeps for itself is unknown, so {} MiB "
          "are promised to nobody: {}",
          found.memory.mib(), call_.describe(api_.nvmlDeviceGetMemoryInfo_v2.name, found.result)));
    }
  }

  void read_mig() {
    if (lost_) return;
    unsigned current = 0;
    unsigned pending = 0;
    const Return result = call_(api_.nvmlDeviceGetMigMode, answer_.handle, &current, &pending);
    if (result == kNotSupported || result == kFunctionNotFound) return;
    if (!told(result, api_.nvmlDeviceGetMigMode.name, "its MIG mode is unknown")) {
      if (known_ == nullptr) {
        gpu_.mig_unread = call_.describe(api_.nvmlDeviceGetMigMode.name, result);
        return;
      }
      gpu_.mig_mode = known_->mig_mode;
      gpu_.mig_unread = known_->mig_unread;
      gpu_.mig_instances = known_->mig_instances;
      gpu_.mig_geometry = known_->mig_geometry;
      return;
    }
    gpu_.mig_mode = current == kMigEnabled ? gpu::MigMode::kEnabled : gpu::MigMode::kDisabled;
    // A change of the mode may change the GPU's minor, and the geometry that the driver reports.
    const bool same_mode = known_ != nullptr && known_->mig_mode == gpu_.mig_mode;
    if (known_ != nullptr && !same_mode && query_.known_complete) read_fixed();
    read_geometry(same_mode);
    if (!gpu_.mig_enabled()) return;
    load_minors();
    static const std::vector<gpu::MigInstance> kNone;
    const auto& known = known_ == nullptr ? kNone : known_->mig_instances;
    const auto gone =
        read_mig_instances(call_, answer_.handle, known, *answer_.minors, gpu_, answer_.warnings);
    if (gone) lose(*gone);
  }

  void load_minors() {
    answer_.minors = query_.minors;
    if (answer_.minors != nullptr) return;
    const auto content = query_.host.read(gpu::kMigMinorsPath);
    if (!content) {
      warn(fmt::format("{}: device nodes of MIG instances are unknown", content.error().what));
    }
    answer_.minors = std::make_shared<const gpu::MigMinors>(
        gpu::MigMinors::parse(content ? std::string_view(*content) : std::string_view()));
  }

  void read_fabric() {
    if (lost_) return;
    FabricInfoV2 info = {.version = version_word<FabricInfoV2>(2)};
    Return result = call_(api_.nvmlDeviceGetGpuFabricInfoV, answer_.handle, &info);
    if (result == kFunctionNotFound || result == kArgumentVersionMismatch) {
      FabricInfo older = {};
      result = call_(api_.nvmlDeviceGetGpuFabricInfo, answer_.handle, &older);
      std::ranges::copy(older.cluster_uuid, info.cluster_uuid);
      info.status = older.status;
      info.clique_id = older.clique_id;
      info.state = older.state;
    }
    if (is_gone(result)) return lose(call_.describe(api_.nvmlDeviceGetGpuFabricInfoV.name, result));
    if (result != kSuccess || info.state != kFabricStateCompleted || info.status != kSuccess)
      return;
    const auto& id = info.cluster_uuid;
    if (std::ranges::all_of(id, [](unsigned char byte) { return byte == 0; })) return;
    std::string uuid;
    for (std::size_t i = 0; i < std::size(id); ++i) {
      uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
    }
    gpu_.fabric = gpu::Fabric{.cluster_uuid = std::move(uuid), .clique_id = info.clique_id};
  }

  // Asks for the limit of the root group: reading it needs no privilege, and the answer shows
  // whether the driver has such limits. NOT_FOUND: it has, and none is set. A GPU in MIG mode has
  // no limits.
  void read_memory_limits() {
    const auto& function = api_.nvmlDeviceGetMemoryLimits_v1;
    if (lost_ || function.pointer == nullptr || gpu_.mig_enabled()) return;
    const std::string root = query_.host.resolve("/sys/fs/cgroup");
    GetMemoryLimits limits = {.name_space = root.c_str()};
    const Return result = call_(function, answer_.handle, &limits);
    if (result == kNotSupported || result == kOperatingSystem) return;
    if (result == kNotFound ||
        told(result, function.name, "whether the kernel can limit its memory is unknown")) {
      gpu_.kernel_memory_limits = true;
    } else if (known_ != nullptr) {
      gpu_.kernel_memory_limits = known_->kernel_memory_limits;
    }
  }

  // Once per GPU and mode, and again while the start positions are unknown.
  void read_geometry(bool same_mode) {
    if (known_ != nullptr) gpu_.mig_geometry = known_->mig_geometry;
    const auto& profiles = gpu_.mig_geometry.profiles;
    const bool has_places = std::ranges::none_of(
        profiles, [](const gpu::GpuInstanceProfile& one) { return one.starts.empty(); });
    if (same_mode && !profiles.empty() && has_places) return;
    auto geometry = read_mig_geometry(call_, answer_.handle, gpu_);
    if (geometry) {
      gpu_.mig_geometry = *std::move(geometry);
    } else {
      warn("its MIG profiles are unknown: " + geometry.error().what);
    }
  }

  void read_recovery_action() {
    if (lost_) return;
    FieldValue field = {.field_id = kFieldRecoveryAction, .result = kNotSupported};
    const Return result = call_(api_.nvmlDeviceGetFieldValues, answer_.handle, 1, &field);
    if (is_gone(result)) return lose(call_.describe(api_.nvmlDeviceGetFieldValues.name, result));
    if (result != kSuccess || field.result != kSuccess) return;
    gpu_.recovery_action = static_cast<int>(field.value.as_uint);
  }

  // Whether the call succeeded. If not: marks the GPU lost, or warns of `consequence`.
  bool told(Return result, const char* function, const char* consequence) {
    if (result == kSuccess) return true;
    if (is_gone(result)) {
      lose(call_.describe(function, result));
      return false;
    }
    // No warning here: missing functions are logged once, when the library is loaded.
    if (result != kFunctionNotFound) {
      warn(fmt::format("{}: {}", consequence, call_.describe(function, result)));
    }
    if (result == kResetRequired) gpu_.recovery_action = 1;
    return false;
  }

  // The same of a fact that some drivers and GPUs do not have.
  bool is_told(Return result, const char* function, const char* consequence) {
    return result != kNotSupported && result != kArgumentVersionMismatch &&
           told(result, function, consequence);
  }

  void lose(std::string reason) {
    if (lost_) return;
    lost_ = true;
    gpu_.presence = gpu::Presence::kLost;
    gpu_.presence_reason = std::move(reason);
  }

  void keep_description(gpu::Gpu known) {
    known.presence = gpu_.presence;
    known.presence_reason = std::move(gpu_.presence_reason);
    gpu_ = std::move(known);
  }

  void warn(std::string_view what) {
    answer_.warnings.push_back(fmt::format("GPU {} ({}): {}", gpu_.index, gpu_.uuid.value, what));
  }

  Calls& call_;
  const Api& api_;
  const DeviceQuery& query_;
  DeviceAnswer& answer_;
  gpu::Gpu& gpu_;
  const gpu::Gpu* known_ = nullptr;  // the same GPU, earlier
  bool lost_ = false;
};

}  // namespace

void read_device(Calls& call, const DeviceQuery& query, DeviceAnswer& answer) {
  DeviceReading(call, query, answer).read();
}

}  // namespace tranche::nvml
