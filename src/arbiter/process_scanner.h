#pragma once
// Asks the driver who is on the tenants' devices, and /proc who they are, on a thread of its own:
// neither may hold up the loop (a driver that hangs takes seconds to be given up).
//
// ask(), take() and fd() by one thread, the loop's.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/fs.h"
#include "gpu/process_reader.h"
#include "host/process.h"

namespace tranche::arbiter {

struct ProcessScan {
  Result<std::vector<gpu::DeviceProcesses>> devices;
  // Of the processes there, those that were not known already.
  std::map<pid_t, host::ProcessFacts> strangers;
};

class ProcessScanner {
 public:
  struct Device {
    std::string uuid;
    std::set<pid_t> known;  // registered there
  };

  // `reader` outlives it. kIo: no eventfd.
  static Result<std::unique_ptr<ProcessScanner>> start(gpu::ProcessReader& reader, FsRoot host);
  // Waits for a reading that runs, which ends at the adapter's deadline.
  ~ProcessScanner();
  ProcessScanner(const ProcessScanner&) = delete;
  ProcessScanner& operator=(const ProcessScanner&) = delete;

  // Readable when take() has something.
  int fd() const { return ready_.get(); }
  bool is_busy() const { return busy_; }
  // Not while it is busy.
  void ask(std::vector<Device> devices);
  std::optional<ProcessScan> take();

 private:
  ProcessScanner(gpu::ProcessReader& reader, FsRoot host, Descriptor ready);
  void work(const std::stop_token& stop);
  ProcessScan survey(const std::vector<Device>& devices);

  gpu::ProcessReader& reader_;
  FsRoot host_;
  Descriptor ready_;
  bool busy_ = false;  // the loop's
  std::mutex mutex_;
  std::condition_variable_any asked_;
  // Guarded by mutex_.
  std::optional<std::vector<Device>> question_;
  std::optional<ProcessScan> answer_;
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace tranche::arbiter
