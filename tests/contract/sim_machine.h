#pragma once
// A simulated machine of a test: its state, its faults, and the driver root with the simulated
// libnvidia-ml.so.1. Only one at a time in a process (the library reads the environment when NVML
// starts); must outlive anything of nvml/.

#include <memory>
#include <string>

#include "nvml/connection.h"
#include "sim/state/faults.h"
#include "sim/state/simulation.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::test {

class SimMachine {
 public:
  // `yaml`: a machine file's content, or the name of one of sim/machines ("l20").
  explicit SimMachine(const std::string& yaml);
  ~SimMachine();
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  // Options of a connection to it; `deadline` of a call.
  nvml::Options options(std::chrono::milliseconds deadline = std::chrono::seconds(20)) const;

  sim::Simulation& sim() { return *sim_; }
  const LogRecorder& log() const { return log_; }
  FsRoot root() const { return FsRoot(dir_.path()); }
  // Path of the library, to replace or remove it.
  std::filesystem::path library() const;
  // Where the library's name links to from now on; an empty path removes it.
  void install(const std::filesystem::path& library);

  std::string uuid(unsigned gpu) const;
  void fail(const std::string& function, int error, unsigned gpu = sim::kNone);
  void hang(const std::string& function, unsigned gpu = sim::kNone);
  void delay(const std::string& function, std::chrono::milliseconds by);
  void heal() { sim::clear_faults(*sim_); }
  void set_presence(unsigned gpu, sim::Presence presence) {
    sim::set_presence(*sim_, gpu, presence);
  }
  // nvmlInit and every other call answer `error`; 0: the driver is back.
  void set_driver_error(int error) { sim_->state().init_error.store(static_cast<unsigned>(error)); }
  void xid(std::uint64_t xid, unsigned gpu, std::optional<unsigned> gpu_instance = {},
           std::optional<unsigned> compute_instance = {});
  // A file of the node, seen by options().host.
  void put(const std::string& path, std::string_view content);

 private:
  TempDir dir_;
  LogRecorder log_;
  std::shared_ptr<sim::Simulation> sim_;
};

// `count` A100-SXM4-40GB, with `mig` (lines "    mig: ...", may be empty) on the first.
std::string a100_machine(int count, const std::string& mig = "");

}  // namespace tranche::test
