#include "sim/gpu/visible.h"

#include <optional>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "sim/gpu/mig.h"
#include "sim/machine/read_number.h"

namespace tranche::sim {
namespace {

constexpr std::string_view kListFolder = "/var/run/nvidia-container-devices";

void show_mig(Visible& visible, std::uint32_t gpu, MigDevice device) {
  visible.gpus.set(gpu);
  visible.mig[gpu].set(device.gpu_instance * kMaxComputeInstances + device.compute_instance);
}

void show_item(const State& state, std::string_view item, Visible& visible) {
  const auto colon = item.find(':');
  const auto index = read_number<std::uint32_t>(item.substr(0, colon));
  const auto second =
      colon == item.npos ? std::nullopt : read_number<std::uint32_t>(item.substr(colon + 1));
  for (std::uint32_t gpu = 0; gpu < state.gpu_count; ++gpu) {
    if (item == state.gpus[gpu].uuid || (index == gpu && colon == item.npos)) {
      visible.gpus.set(gpu);
      visible.whole.set(gpu);
      return;
    }
    const auto devices = mig_devices(state.gpus[gpu]);
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
      if ((index == gpu && second == i) || item == mig_uuid(state.gpus[gpu], devices[i])) {
        show_mig(visible, gpu, devices[i]);
        return;
      }
    }
  }
}

void show_nodes(const State& state, const FsRoot& files, Visible& visible) {
  for (std::uint32_t gpu = 0; gpu < state.gpu_count; ++gpu) {
    const std::uint32_t minor = state.gpus[gpu].minor;
    if (!files.exists(fmt::format("/dev/nvidia{}", minor))) continue;
    visible.gpus.set(gpu);
    visible.whole[gpu] = state.gpus[gpu].mig_current.load() == 0;
    for (const MigDevice device : mig_devices(state.gpus[gpu])) {
      const auto minor_of_device =
          capability_minor(minor, device.gpu_instance, device.compute_instance);
      if (files.exists(fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor_of_device))) {
        show_mig(visible, gpu, device);
      }
    }
  }
}

}  // namespace

Visible read_visible(const State& state, const char* value, const FsRoot& files) {
  Visible visible;
  if (value == nullptr || std::string_view(value) == "all") return visible;
  visible.everything = false;
  std::string_view text = value;
  if (text == "none") return visible;
  if (text.empty() || text == "void") {
    show_nodes(state, files, visible);
    return visible;
  }
  if (text == kListFolder) {
    for (const std::string& name : files.list(kListFolder).value_or(std::vector<std::string>())) {
      if (name == "all") visible.everything = true;
      show_item(state, name, visible);
    }
    return visible;
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    show_item(state, text.substr(0, comma), visible);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return visible;
}

std::uint32_t capability_minor(std::uint32_t gpu_minor, std::uint32_t gpu_instance,
                               std::uint32_t compute_instance) {
  // 1 is /config, 2 is /monitor; then for each GPU 15 instances of "access" and eight "ci/access".
  const std::uint32_t own = 3 + gpu_minor * 135 + gpu_instance * 9;
  return compute_instance == kNone ? own : own + 1 + compute_instance;
}

}  // namespace tranche::sim
