#pragma once
// gpu::Reader over NVML and sysfs. Not thread-safe: one owner at a time. Machine::host stays empty;
// wiring fills it in with host::read_host().
//
// Every NVML call runs on a thread of the pool (nvml/deadline_pool.h) with the connection's
// deadline. A GPU that does not answer in time is kUnknown. A GPU that the driver lost is kLost.
// Both keep their last description. A GPU that was never described gives a line in
// Machine::warnings instead. Each reading has its own warnings; while a cause lasts, its warning
// stays the same. If the driver is unloaded, read() fails until it is back; the same object then
// works again.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "gpu/reader.h"
#include "nvml/connection.h"
#include "nvml/device.h"

namespace tranche::nvml {

class Reader final : public gpu::Reader {
 public:
  explicit Reader(std::shared_ptr<Connection> connection);

  Result<gpu::Machine> read() override;
  Result<gpu::Topology> read_topology(const gpu::Machine& machine) override;

 private:
  // NVML's information about the whole machine.
  struct System {
    unsigned gpus = 0;
    std::string driver_version;
    int cuda_driver_version = 0;
    std::vector<std::string> warnings;
  };
  Result<std::shared_ptr<Session>> ready_session();
  Result<System> read_system(const std::shared_ptr<Session>& session);
  Result<gpu::Machine> read_with(const std::shared_ptr<Session>& session, const System& system);
  void add_gpu(int index, const DeadlinePool::Outcome& outcome, const DeviceAnswer& answer,
               gpu::Machine& machine);
  void add_unreachable(int index, gpu::Presence presence, const std::string& reason,
                       gpu::Machine& machine);
  void note_presence(const gpu::Machine& machine);
  std::vector<std::optional<Device>> handles_of(const gpu::Machine& machine) const;

  std::shared_ptr<Connection> connection_;

  // These are valid only for session_.
  std::weak_ptr<Session> session_;
  std::optional<System> system_;
  std::map<std::string, Device> handles_;  // by UUID
  std::shared_ptr<const gpu::MigMinors> minors_;

  struct Known {
    gpu::Gpu gpu;
    bool complete = false;
  };
  std::map<int, Known> known_;          // the last description, by index
  std::set<std::string> ever_present_;  // UUIDs
  bool missing_ = false;                // one of these was not present in the last reading
  std::chrono::steady_clock::time_point restarted_{};
  Backoff restart_;
};

}  // namespace tranche::nvml
