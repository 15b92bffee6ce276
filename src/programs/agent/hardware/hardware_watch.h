#pragma once
// Reads the hardware at intervals on its own thread, so that the agent's loop, Allocate and
// ListAndWatch never wait for NVML. Also reads the links between GPUs, for each set of GPUs until
// the driver has reported all of them.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/result.h"
#include "gpu/reader.h"
#include "offer/preferred.h"

namespace tranche::agent {

class HardwareWatch {
 public:
  // Both are called on the watch's thread.
  struct Callbacks {
    std::function<void(Result<gpu::Machine>)> reading;
    std::function<void(offer::Links)> links;  // empty: links are not read
  };

  // `known`: the caller's own first reading. The next one follows after `interval`, or sooner if a
  // GPU can have MIG: its layout may be changed by hand, and not every driver reports that.
  HardwareWatch(gpu::Reader& reader, std::chrono::milliseconds interval, gpu::Machine known,
                Callbacks callbacks);
  ~HardwareWatch();

  // Reads at once, or after a reading in progress.
  void read_now();

 private:
  void run(const std::stop_token& stop);
  void read_links(const gpu::Machine& machine);

  gpu::Reader& reader_;
  std::chrono::milliseconds interval_;
  gpu::Machine known_;
  Callbacks callbacks_;
  offer::Links links_;            // as last passed on
  int readings_since_links_ = 0;  // since they were all known
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool asked_ = false;
  std::jthread thread_;
};

}  // namespace tranche::agent
