#pragma once
// Asks NVML which processes are on the tenants' devices, and reads their identities from /proc.
// Both happen on a separate thread, because a hanging driver is only given up on after seconds and
// must not block the loop.
//
// ask(), take(), fd() and is_busy() are called by one thread, the loop's.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "arbiter/mps_daemons.h"
#include "base/descriptor.h"
#include "base/fs.h"
#include "gpu/process_reader.h"
#include "host/process.h"

namespace tranche::arbiter {

struct ProcessScan {
  Result<std::vector<gpu::DeviceProcesses>> devices;
  // The facts of /proc about the listed processes that were not in `known`. Their mounts are those
  // of their container, as seen by them and their ancestors in it: a process that has changed its
  // root (chroot) does not see the mounts outside. A live but unreadable process is included, with
  // what is known about it.
  std::map<pid_t, host::ProcessFacts> strangers;
  // The control groups of known, readable processes, if a stranger may be in a Pod.
  std::map<pid_t, std::string> known_groups{};
  // Strangers that are servers of the node's MPS daemons.
  std::set<pid_t> mps_servers{};
};

class ProcessScanner {
 public:
  struct Device {
    std::string uuid;
    std::set<pid_t> known;  // pids of processes that need not be looked up in /proc
  };

  // `reader` must outlive it. kIo: the eventfd cannot be created.
  static Result<std::unique_ptr<ProcessScanner>> start(gpu::ProcessReader& reader, FsRoot host,
                                                       MpsDaemons mps);
  // Waits for a reading in progress, which ends by the deadline of the NVML adapter.
  ~ProcessScanner();
  ProcessScanner(const ProcessScanner&) = delete;
  ProcessScanner& operator=(const ProcessScanner&) = delete;

  // Readable when take() has an answer.
  int fd() const { return ready_.get(); }
  bool is_busy() const { return busy_; }
  // Starts a reading. Must not be called while is_busy().
  void ask(std::vector<Device> devices);
  std::optional<ProcessScan> take();

 private:
  ProcessScanner(gpu::ProcessReader& reader, FsRoot host, MpsDaemons mps, Descriptor ready);
  void work(const std::stop_token& stop);
  std::vector<pid_t> add_ancestors(host::ProcessFacts& facts) const;
  void read_known_groups(const std::vector<Device>& devices, ProcessScan& result) const;
  ProcessScan scan(const std::vector<Device>& devices);

  gpu::ProcessReader& reader_;
  FsRoot host_;
  MpsDaemons mps_;
  Descriptor ready_;
  bool busy_ = false;  // used by the loop's thread
  std::mutex mutex_;
  std::condition_variable_any asked_;
  // Guarded by mutex_.
  std::optional<std::vector<Device>> question_;
  std::optional<ProcessScan> answer_;
  std::jthread thread_;  // last: the thread uses all members
};

}  // namespace tranche::arbiter
