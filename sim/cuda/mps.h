#pragma once
// This process as a client of an MPS server (sim/mps/wire.h): whether it is one, its limits, and
// whether it still is.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sim/cuda/abi.h"
#include "sim/mps/wire.h"

namespace tranche::sim::cuda {

class MpsClient {
 public:
  struct Granted {
    UseTarget target;
    std::uint64_t memory_limit = 0;  // bytes; 0: none
  };

  // Looks for a control daemon; if none answers, the process is not a client, which is not an
  // error. Waits as long as the daemon makes it wait. `slot` is the process's.
  abi::CUresult connect(const Simulation& sim, const ProcessSlot& slot);

  bool is_client() const { return group_ != kNoGroup; }
  std::uint32_t group() const { return group_; }
  // Its limit: the server's, lowered by its own environment.
  std::uint32_t thread_permille() const { return thread_permille_; }
  // Bytes on a device; 0: no limit. `ordinal`: in the order of devices of the environment.
  std::uint64_t memory_limit(const UseTarget& device, std::uint32_t ordinal) const;
  // Whether the server has the device.
  bool has(const UseTarget& device) const;

  // Why it is no longer a client (MPS_CLIENT_TERMINATED, MPS_RPC_FAILURE, a neighbour's fatal
  // fault): every call returns that from then on.
  abi::CUresult state();
  // Asks the server for a context there. Returns success, or why not.
  abi::CUresult add_context(const UseTarget& device);
  void remove_context(const UseTarget& device);
  // Reports a fault of this process that ends all clients on the device.
  void report_fault(const UseTarget& device, abi::CUresult error);
  // In a forked child, which is not a client: the parent's end is the end of the connection.
  void forget() { connection_.close(); }

 private:
  abi::CUresult end(std::uint32_t error);
  abi::CUresult end_by(const Packet& packet);

  std::mutex mutex_;  // protects the connection
  OwnedFd connection_;
  std::atomic<std::uint32_t> ended_ = 0;  // CUresult
  std::uint32_t group_ = kNoGroup;
  std::uint32_t thread_permille_ = kFullRate;
  std::vector<Granted> granted_;
  MpsLimits own_;
  std::map<std::uint32_t, std::uint64_t> own_by_gpu_;  // bytes, for those named by UUID
};

// Whether a GPU fault ends every context on it.
bool is_fatal(abi::CUresult error);

}  // namespace tranche::sim::cuda
