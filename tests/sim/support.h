#pragma once
// Shared by the tests of the simulated machine: machines in a folder of the test, the library
// through dlopen, child processes.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/nvml/abi.h"
#include "sim/state/simulation.h"
#include "support/temp_dir.h"

namespace tranche::sim::test {

inline std::string machine_file(std::string_view name) {
  return std::string(TRANCHE_SIM_MACHINES) + "/" + std::string(name) + ".yaml";
}

// A simulated machine of the test's own, and the environment that names it.
class World {
 public:
  explicit World(std::string_view machine) : machine_(machine_file(machine)) { name(); }
  ~World() {
    ::unsetenv("TRANCHE_SIM");
    ::unsetenv("TRANCHE_SIM_STATE");
    ::unsetenv("NVIDIA_VISIBLE_DEVICES");
  }

  std::string state_path() const { return folder_.path() / "state"; }
  OpenOptions options() const { return options_from_environment(); }
  std::shared_ptr<Simulation> open() const {
    auto sim = Simulation::open(options());
    if (!sim) ADD_FAILURE() << sim.error().message();
    return sim.value_or(nullptr);
  }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  void name() const {
    ::setenv("TRANCHE_SIM", machine_.c_str(), 1);
    ::setenv("TRANCHE_SIM_STATE", state_path().c_str(), 1);
  }

  tranche::test::TempDir folder_;
  std::string machine_;
};

// libnvidia-ml.so.1 as a client loads it. Initialised for the object's life.
class Nvml {
 public:
  Nvml() : handle_(::dlopen(TRANCHE_SIM_NVML, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) ADD_FAILURE() << ::dlerror();
    first_ = (*this)("nvmlInit_v2");
  }
  ~Nvml() {
    if (first_ == abi::NVML_SUCCESS) (*this)("nvmlShutdown");
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  abi::nvmlReturn_t init_result() const { return first_; }

  // Calls by name; the arguments' types must be those of the declaration.
  template <class... Arguments>
  abi::nvmlReturn_t operator()(const char* name, Arguments... arguments) const {
    void* function = ::dlsym(handle_, name);
    if (function == nullptr) {
      ADD_FAILURE() << name << " is not exported";
      return abi::NVML_ERROR_FUNCTION_NOT_FOUND;
    }
    return reinterpret_cast<abi::nvmlReturn_t (*)(Arguments...)>(function)(arguments...);
  }

  abi::nvmlDevice_t gpu(unsigned int index = 0) const {
    abi::nvmlDevice_t device = nullptr;
    EXPECT_EQ((*this)("nvmlDeviceGetHandleByIndex_v2", index, &device), abi::NVML_SUCCESS);
    return device;
  }
  abi::nvmlDevice_t mig(unsigned int index, unsigned int of_gpu = 0) const {
    abi::nvmlDevice_t device = nullptr;
    EXPECT_EQ((*this)("nvmlDeviceGetMigDeviceHandleByIndex", gpu(of_gpu), index, &device),
              abi::NVML_SUCCESS);
    return device;
  }
  std::string text(const char* function, abi::nvmlDevice_t device) const {
    std::array<char, 128> out = {};
    const unsigned int length = out.size();
    EXPECT_EQ((*this)(function, device, out.data(), length), abi::NVML_SUCCESS);
    return out.data();
  }
  unsigned int count() const {
    unsigned int count = 0;
    EXPECT_EQ((*this)("nvmlDeviceGetCount_v2", &count), abi::NVML_SUCCESS);
    return count;
  }

 private:
  void* handle_;
  abi::nvmlReturn_t first_ = abi::NVML_ERROR_UNKNOWN;
};

// Runs `body` in a child process, which ends with its result.
template <class Body>
pid_t in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}

// The exit code, or 128 and the signal.
inline int wait_for(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A pipe on which a child reports its progress.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void give() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void await() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {};
};

}  // namespace tranche::sim::test
