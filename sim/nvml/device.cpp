// Finding devices, and their properties.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "fmt/format.h"
#include "sim/gpu/mig.h"
#include "sim/machine/identity.h"
#include "sim/nvml/convert.h"
#include "sim/nvml/library.h"
#include "sim/state/faults.h"

namespace tranche::sim {
namespace {

constexpr unsigned int kTuring = 6;
constexpr unsigned long kAddressingModeSince = 575;

// A handle to a GPU that is found: applies faults that name this GPU, and reports a lost one.
nvmlReturn_t give_gpu(const Session& session, const char* function, std::uint32_t gpu,
                      nvmlDevice_t* out) {
  if (const auto fault = meet_faults(*session.sim, function, gpu); fault != 0) {
    return static_cast<nvmlReturn_t>(fault);
  }
  if (session.state().gpus[gpu].presence.load() != static_cast<std::uint32_t>(Presence::kPresent)) {
    return NVML_ERROR_GPU_IS_LOST;
  }
  *out = gpu_handle(gpu);
  return NVML_SUCCESS;
}

nvmlReturn_t find_mig(const Session& session, std::string_view uuid, nvmlDevice_t* out) {
  for (std::uint32_t gpu = 0; gpu < session.state().gpu_count; ++gpu) {
    if (!session.is_shown(gpu)) continue;
    const Gpu& hardware = session.state().gpus[gpu];
    for (const MigDevice device : mig_devices(hardware)) {
      if (!session.visible.shows(gpu, device.gpu_instance, device.compute_instance)) continue;
      if (mig_uuid(hardware, device) != uuid) continue;
      *out = mig_handle(session.state(), gpu, device.gpu_instance, device.compute_instance);
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

std::string name_of(const Device& device) {
  if (!device.is_mig()) return device.model().name;
  return fmt::format("{} MIG {}", device.model().name,
                     mig_profile_name(device.state(), device.hardware(),
                                      {device.gpu_instance, device.compute_instance}));
}

std::string uuid_of(const Device& device) {
  if (!device.is_mig()) return device.hardware().uuid;
  return mig_uuid(device.hardware(), {device.gpu_instance, device.compute_instance});
}

}  // namespace

void fill_pci(const PciAddress& address, nvmlPciInfo_t& out) {
  out = {};
  out.domain = address.domain;
  out.bus = address.bus;
  out.device = address.device;
  std::snprintf(out.busIdLegacy, sizeof out.busIdLegacy, "%04X:%02X:%02X.0",
                address.domain & 0xFFFFU, address.bus & 0xFFU, address.device & 0x1FU);
  std::snprintf(out.busId, sizeof out.busId, "%08X:%02X:%02X.0", address.domain,
                address.bus & 0xFFU, address.device & 0x1FU);
}

NVML_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  return on_system(__func__, given(count), [&](const Session& session) {
    *count = session.count();
    return NVML_SUCCESS;
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) {
  return nvmlDeviceGetCount_v2(count);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  return on_system(__func__, given(device), [&](const Session& session) {
    const auto gpu = session.gpu_at(index);
    if (!gpu) return NVML_ERROR_INVALID_ARGUMENT;
    return give_gpu(session, "nvmlDeviceGetHandleByIndex_v2", *gpu, device);
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return on_system(__func__, given(uuid, device), [&](const Session& session) {
    for (std::uint32_t gpu = 0; gpu < session.state().gpu_count; ++gpu) {
      if (session.is_shown(gpu) && std::string_view(session.state().gpus[gpu].uuid) == uuid) {
        return give_gpu(session, "nvmlDeviceGetHandleByUUID", gpu, device);
      }
    }
    return find_mig(session, uuid, device);
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  return on_system(__func__, given(serial, device), [&](const Session& session) {
    for (std::uint32_t gpu = 0; gpu < session.state().gpu_count; ++gpu) {
      if (session.is_shown(gpu) && std::string_view(session.state().gpus[gpu].serial) == serial) {
        return give_gpu(session, "nvmlDeviceGetHandleBySerial", gpu, device);
      }
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  return on_system(__func__, given(bus_id, device), [&](const Session& session) {
    const auto wanted = parse_pci(bus_id);
    if (!wanted) return NVML_ERROR_INVALID_ARGUMENT;
    for (std::uint32_t gpu = 0; gpu < session.state().gpu_count; ++gpu) {
      const PciAddress& pci = session.state().gpus[gpu].pci;
      if (session.is_shown(gpu) && pci.domain == wanted->domain && pci.bus == wanted->bus &&
          pci.device == wanted->device) {
        return give_gpu(session, "nvmlDeviceGetHandleByPciBusId_v2", gpu, device);
      }
    }
    return NVML_ERROR_NOT_FOUND;
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

NVML_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned int length) {
  return on_device(__func__, handle, given(name),
                   [&](const Device& device) { return copy_text(name_of(device), name, length); });
}

NVML_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length) {
  return on_device(__func__, handle, given(uuid),
                   [&](const Device& device) { return copy_text(uuid_of(device), uuid, length); });
}

NVML_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int* index) {
  return on_device(__func__, handle, given(index), [&](const Device& device) {
    if (!device.is_mig()) {
      *index = device.session.index_of(device.gpu);
      return NVML_SUCCESS;
    }
    *index = 0;
    for (const MigDevice other : mig_devices(device.hardware())) {
      if (!device.session.visible.shows(device.gpu, other.gpu_instance, other.compute_instance)) {
        continue;
      }
      if (other.gpu_instance == device.gpu_instance &&
          other.compute_instance == device.compute_instance) {
        return NVML_SUCCESS;
      }
      *index += 1;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned int* minor) {
  return on_gpu(__func__, handle, given(minor), [&](const Device& device) {
    *minor = device.hardware().minor;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t handle, char* serial, unsigned int length) {
  return on_device(__func__, handle, given(serial), [&](const Device& device) {
    return copy_text(device.hardware().serial, serial, length);
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t handle, char* version,
                                                unsigned int length) {
  return on_device(__func__, handle, given(version), [&](const Device& device) {
    return copy_text(device.model().vbios, version, length);
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t handle, unsigned int* brand) {
  return on_device(__func__, handle, given(brand), [&](const Device& device) {
    *brand = device.model().brand;
    return NVML_SUCCESS;
  });
}

// An older driver's library has no such function, and a GPU before Turing no such mode. That the
// kernel has HMM is invented.
NVML_API nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t handle,
                                                  nvmlDeviceAddressingMode_v1_t* mode) {
  return on_gpu(__func__, handle, given(mode), [&](const Device& device) {
    if (std::strtoul(device.state().driver_version, nullptr, 10) < kAddressingModeSince) {
      return NVML_ERROR_FUNCTION_NOT_FOUND;
    }
    if (mode->version != struct_version<nvmlDeviceAddressingMode_v1_t>(1)) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (device.model().architecture < kTuring) return NVML_ERROR_NOT_SUPPORTED;
    mode->value = NVML_DEVICE_ADDRESSING_MODE_HMM;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t handle, unsigned int* architecture) {
  return on_device(__func__, handle, given(architecture), [&](const Device& device) {
    *architecture = device.model().architecture;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major,
                                                         int* minor) {
  return on_device(__func__, handle, given(major, minor), [&](const Device& device) {
    *major = static_cast<int>(device.model().cc_major);
    *minor = static_cast<int>(device.model().cc_minor);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return on_device(__func__, handle, given(pci), [&](const Device& device) {
    fill_pci(device.hardware().pci, *pci);
    pci->pciDeviceId = device.model().pci_device_id;
    pci->pciSubSystemId = device.model().pci_subsystem_id;
    return NVML_SUCCESS;
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return nvmlDeviceGetPciInfo_v3(handle, pci);
}

NVML_API nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t handle, unsigned int* mode) {
  return on_device(__func__, handle, given(mode), [&](const Device& device) {
    *mode = device.state().virtualization;
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
