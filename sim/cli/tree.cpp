#include "sim/cli/tree.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/fs.h"
#include "fmt/format.h"
#include "sim/cli/pci_place.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/visible.h"

namespace tranche::sim {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMajor = 195;  // nvidia-frontend
constexpr unsigned kCtlMinor = 255;
constexpr unsigned kModesetMinor = 254;
#ifdef __aarch64__
constexpr const char* kLibraries = "usr/lib/aarch64-linux-gnu";
#else
constexpr const char* kLibraries = "usr/lib/x86_64-linux-gnu";
#endif

class Tree {
 public:
  Tree(const Simulation& sim, const TreeOptions& options)
      : state_(sim.state()), options_(options), root_(options.folder) {}

  Result<TreeReport> write() {
    TRY(write_system());
    for (std::uint32_t i = 0; i < state_.gpu_count; ++i) TRY(write_gpu(state_.gpus[i]));
    TRY(write_mig_minors());
    TRY(write_nodes(fs::path("/")));
    const fs::path driver = fs::path("/") / options_.driver_root;
    if (driver.lexically_normal() != "/") TRY(write_nodes(driver));
    TRY(write_driver(driver));
    return report_;
  }

 private:
  Result<void> text(const fs::path& path, std::string_view content, unsigned mode = 0644) {
    return text(root_, path, content, mode);
  }

  static Result<void> text(const FsRoot& root, const fs::path& path, std::string_view content,
                           unsigned mode = 0644) {
    TRY(root.make_directories(path.parent_path()));
    return root.write_atomic(path, content, mode);
  }

  Result<void> write_system() {
    TRY(text("/sys/class/dmi/id/product_name", fmt::format("{}\n", state_.product)));
    TRY(text("/sys/module/nvidia/version", fmt::format("{}\n", state_.driver_version)));
    TRY(text("/proc/driver/nvidia/version",
             fmt::format("NVRM version: NVIDIA UNIX Kernel Module  {}  (simulated)\n",
                         state_.driver_version)));
    TRY(text("/proc/devices",
             fmt::format("Character devices:\n  1 mem\n{0} nvidia\n{0} nvidiactl\n{0} "
                         "nvidia-frontend\n{1} nvidia-caps\n{2} nvidia-uvm\n\nBlock devices:\n",
                         kMajor, kCapsMajor, state_.uvm_major)));
    TRY(root_.make_directories("/sys/bus/pci/devices"));
    for (std::uint32_t node = 0; node < state_.numa_nodes; ++node) {
      TRY(text(fmt::format("/sys/devices/system/node/node{}/numastat", node), ""));
    }
    return {};
  }

  Result<void> write_gpu(const Gpu& gpu) {
    if (gpu.presence.load() == static_cast<std::uint32_t>(Presence::kGone)) return {};
    const Model& model = state_.models[gpu.model];
    const std::string address = pci_name(gpu.pci);
    TRY(write_pci(gpu, address));
    TRY(text("/proc/driver/nvidia/gpus/" + address + "/information",
             fmt::format("Model: \t\t {}\nGPU UUID: \t {}\nBus Type: \t PCIe\nBus Location: \t {}\n"
                         "Device Minor: \t {}\n",
                         model.name, gpu.uuid, address, gpu.minor)));
    return write_capabilities(gpu);
  }

  // As the kernel shows it: the device below its root, and a link to it by its address.
  Result<void> write_pci(const Gpu& gpu, const std::string& address) {
    const bool here = options_.pci_folder.empty();
    const FsRoot root = here ? root_ : FsRoot();
    const fs::path place = pci_place(state_, gpu);
    const fs::path pci = (here ? fs::path("/sys/devices") : options_.pci_folder) / place;
    const Model& model = state_.models[gpu.model];
    TRY(text(root, pci / "vendor", fmt::format("0x{:04x}\n", model.pci_device_id & 0xFFFFU)));
    TRY(text(root, pci / "device", fmt::format("0x{:04x}\n", model.pci_device_id >> 16U)));
    TRY(text(root, pci / "class", fmt::format("0x{:06x}\n", model.pci_class)));
    TRY(text(root, pci / "numa_node", fmt::format("{}\n", gpu.numa)));
    TRY(text(root, pci / "config", pci_config(state_, gpu)));
    const fs::path target = here ? "../../../devices" / place : pci;
    return link(fs::path("/sys/bus/pci/devices") / address, target.string());
  }

  // The files of the MIG instances that are there now.
  Result<void> write_capabilities(const Gpu& gpu) {
    const fs::path folder = fmt::format("/proc/driver/nvidia/capabilities/gpu{}/mig", gpu.minor);
    std::error_code ignored;
    fs::remove_all(root_.resolve(folder), ignored);
    for (const MigDevice device : mig_devices(gpu)) {
      const fs::path instance = folder / fmt::format("gi{}", device.gpu_instance);
      TRY(write_access(instance / "access", capability_minor(gpu.minor, device.gpu_instance)));
      TRY(write_access(instance / fmt::format("ci{}", device.compute_instance) / "access",
                       capability_minor(gpu.minor, device.gpu_instance, device.compute_instance)));
    }
    return {};
  }

  Result<void> write_access(const fs::path& path, std::uint32_t minor) {
    return text(path, fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
                                  minor));
  }

  // All that could exist, as the driver lists them, for 32 GPUs.
  Result<void> write_mig_minors() {
    std::string lines = "config 1\nmonitor 2\n";
    for (std::uint32_t gpu = 0; gpu < kMaxGpus; ++gpu) {
      for (std::uint32_t g = 0; g < kMaxGpuInstances; ++g) {
        lines += fmt::format("gpu{}/gi{}/access {}\n", gpu, g, capability_minor(gpu, g));
        for (std::uint32_t c = 0; c < kMaxComputeInstances; ++c) {
          lines +=
              fmt::format("gpu{}/gi{}/ci{}/access {}\n", gpu, g, c, capability_minor(gpu, g, c));
        }
      }
    }
    return text("/proc/driver/nvidia-caps/mig-minors", lines);
  }

  Result<void> write_nodes(const fs::path& root) {
    TRY(node(root / "dev/nvidiactl", kMajor, kCtlMinor));
    TRY(node(root / "dev/nvidia-modeset", kMajor, kModesetMinor));
    TRY(node(root / "dev/nvidia-uvm", state_.uvm_major, 0));
    TRY(node(root / "dev/nvidia-uvm-tools", state_.uvm_major, 1));
    for (std::uint32_t i = 0; i < state_.gpu_count; ++i) {
      const Gpu& gpu = state_.gpus[i];
      if (gpu.presence.load() == static_cast<std::uint32_t>(Presence::kGone)) continue;
      TRY(node(root / fmt::format("dev/nvidia{}", gpu.minor), kMajor, gpu.minor));
      for (const MigDevice device : mig_devices(gpu)) {
        for (const std::uint32_t compute : {kNone, device.compute_instance}) {
          const auto minor = capability_minor(gpu.minor, device.gpu_instance, compute);
          TRY(node(root / fmt::format("dev/nvidia-caps/nvidia-cap{}", minor), kCapsMajor, minor));
        }
      }
    }
    return {};
  }

  Result<void> node(const fs::path& path, unsigned major, unsigned minor) {
    TRY(root_.make_directories(path.parent_path()));
    const fs::path real = root_.resolve(path);
    std::error_code ignored;
    fs::remove(real, ignored);
    report_.nodes += 1;
    if (!options_.plain_nodes) {
      const unsigned shown = state_.nodes_share_minor != 0 ? 0 : minor;
      if (::mknod(real.c_str(), S_IFCHR | state_.node_mode, ::makedev(major, shown)) == 0) {
        report_.device_nodes = true;
        // mknod's mode passes the umask.
        if (::chmod(real.c_str(), state_.node_mode) != 0) {
          return std::unexpected(errno_error(errno, "chmod " + real.string()));
        }
        return {};
      }
      if (errno != EPERM && errno != EACCES) {
        return std::unexpected(errno_error(errno, "mknod " + real.string()));
      }
    }
    return text(path, "");
  }

  Result<void> write_driver(const fs::path& root) {
    const fs::path libraries = root / kLibraries;
    for (const char* name : {"libnvidia-ml.so", "libcuda.so", "libnvidia-ptxjitcompiler.so"}) {
      const std::string versioned = fmt::format("{}.{}", name, state_.driver_version);
      TRY(install(libraries / versioned, fmt::format("{}.1", name), ""));
      TRY(link(libraries / fmt::format("{}.1", name), versioned));
    }
    TRY(link(libraries / "libcuda.so", "libcuda.so.1"));
    TRY(link(libraries / "libnvidia-ml.so", "libnvidia-ml.so.1"));
    TRY(install(root / "usr/bin/nvidia-smi", "nvidia-smi", kNotSimulated));
    return install(root / "usr/bin/nvidia-cuda-mps-control", "nvidia-cuda-mps-control",
                   kNotSimulated);
  }

  // A copy of what was built under sim/, else `placeholder`: the file must exist for a CDI spec.
  Result<void> install(const fs::path& path, const std::string& built,
                       std::string_view placeholder) {
    TRY(root_.make_directories(path.parent_path()));
    std::error_code error;
    const fs::path source =
        fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "sim" / built;
    if (!fs::exists(source, error)) return text(path, placeholder, 0755);
    const fs::path real = root_.resolve(path);
    fs::remove(real, error);
    fs::copy_file(source, real, error);
    if (error) return fail(Code::kIo, fmt::format("copy {}: {}", real.string(), error.message()));
    return {};
  }

  Result<void> link(const fs::path& path, const std::string& target) {
    std::error_code error;
    const fs::path real = root_.resolve(path);
    fs::remove_all(real, error);
    fs::create_symlink(target, real, error);
    if (error) return fail(Code::kIo, fmt::format("link {}: {}", real.string(), error.message()));
    return {};
  }

  static constexpr std::string_view kNotSimulated =
      "#!/bin/sh\necho \"$0: not part of this simulated driver\" >&2\nexit 1\n";

  const State& state_;
  const TreeOptions& options_;
  FsRoot root_;
  TreeReport report_;
};

}  // namespace

Result<TreeReport> write_tree(const Simulation& sim, const TreeOptions& options) {
  return Tree(sim, options).write();
}

}  // namespace tranche::sim
