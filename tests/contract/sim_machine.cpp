#include "contract/sim_machine.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

#include "support/wait.h"

namespace tranche::test {
namespace {

// Whether nobody in this process has NVML started. A thread that a test left in a call may take a
// moment to release it, and the next machine is read only when NVML starts again.
bool nvml_is_down() {
  void* library = ::dlopen(TRANCHE_SIM_NVML, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return true;
  const auto count =
      reinterpret_cast<int (*)(unsigned*)>(::dlsym(library, "nvmlDeviceGetCount_v2"));
  unsigned gpus = 0;
  const bool down = count(&gpus) == nvml::kUninitialized;
  ::dlclose(library);
  return down;
}

}  // namespace

SimMachine::SimMachine(const std::string& yaml) {
  const FsRoot root(dir_.path());
  std::string text = yaml;
  if (yaml.find('\n') == std::string::npos) {
    text = FsRoot("sim/machines").read(yaml + ".yaml").value();
  }
  put("/machine.yaml", text);
  const std::string machine = root.resolve("/machine.yaml");
  const std::string state = root.resolve("/state");
  ::setenv("TRANCHE_SIM", machine.c_str(), 1);
  ::setenv("TRANCHE_SIM_STATE", state.c_str(), 1);
  auto sim = sim::Simulation::open({.machine = machine, .state = state});
  if (!sim) throw std::runtime_error(sim.error().message());
  sim_ = *std::move(sim);
  install(TRANCHE_SIM_NVML);
}

SimMachine::~SimMachine() {
  heal();
  set_driver_error(0);
  eventually(nvml_is_down);
  ::unsetenv("TRANCHE_SIM");
  ::unsetenv("TRANCHE_SIM_STATE");
}

nvml::Options SimMachine::options(std::chrono::milliseconds deadline) const {
  return {.driver_root = dir_.path() / "driver",
          .host = root(),
          .deadline = deadline,
          .restart_interval = std::chrono::milliseconds(0),
          .event_slice = std::chrono::milliseconds(5),
          .log = &log_.log()};
}

std::filesystem::path SimMachine::library() const {
  return dir_.path() / "driver/usr/lib64/libnvidia-ml.so.1";
}

void SimMachine::install(const std::filesystem::path& library_file) {
  std::filesystem::create_directories(library().parent_path());
  std::filesystem::remove(library());
  if (!library_file.empty()) std::filesystem::create_symlink(library_file, library());
}

std::string SimMachine::uuid(unsigned gpu) const { return sim_->state().gpus[gpu].uuid; }

void SimMachine::fail(const std::string& function, int error, unsigned gpu) {
  const auto added = sim::add_fault(*sim_, {.kind = sim::FaultKind::kFail,
                                            .function = function,
                                            .gpu = gpu,
                                            .error = static_cast<std::uint32_t>(error)});
  if (!added) throw std::runtime_error(added.error().message());
}

void SimMachine::hang(const std::string& function, unsigned gpu) {
  const auto added =
      sim::add_fault(*sim_, {.kind = sim::FaultKind::kHang, .function = function, .gpu = gpu});
  if (!added) throw std::runtime_error(added.error().message());
}

void SimMachine::delay(const std::string& function, std::chrono::milliseconds by) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(by).count();
  const auto added = sim::add_fault(*sim_, {.kind = sim::FaultKind::kDelay,
                                            .function = function,
                                            .delay_us = static_cast<std::uint64_t>(micros)});
  if (!added) throw std::runtime_error(added.error().message());
}

void SimMachine::xid(std::uint64_t xid, unsigned gpu, std::optional<unsigned> gpu_instance,
                     std::optional<unsigned> compute_instance) {
  sim::post_event(*sim_, {.type = nvml::kEventXid,
                          .data = xid,
                          .gpu = gpu,
                          .gpu_instance = gpu_instance.value_or(sim::kNone),
                          .compute_instance = compute_instance.value_or(sim::kNone)});
}

void SimMachine::put(const std::string& path, std::string_view content) {
  const auto fs = root();
  const std::filesystem::path file(path);
  if (!fs.make_directories(file.parent_path()) || !fs.write_atomic(file, content)) {
    throw std::runtime_error("write " + path);
  }
}

std::string a100_machine(int count, const std::string& mig) {
  std::string yaml =
      "machine: test\n"
      "models:\n"
      "  a100:\n"
      "    name: NVIDIA A100-SXM4-40GB\n"
      "    architecture: ampere\n"
      "    compute_capability: \"8.0\"\n"
      "    memory: 40960Mi\n"
      "    sm: 108\n"
      "    pci_device: 0x20B0\n"
      "    mig: a100-40gb\n"
      "gpus:\n";
  for (int i = 0; i < count; ++i) {
    yaml += fmt::format("  - model: a100\n    pci: \"0000:{:02x}:00.0\"\n    numa: {}\n", 0x10 + i,
                        i % 2);
    if (i == 0) yaml += mig;
  }
  return yaml;
}

}  // namespace tranche::test
