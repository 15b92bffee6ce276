#pragma once
// Listens for XIDs on a thread of its own. When waiting or subscribing fails it backs off (1 s, 2
// s,
// ... 30 s) and subscribes anew: a broken driver never costs a busy loop.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/backoff.h"
#include "base/log.h"
#include "gpu/events.h"

namespace tranche::agent {

class XidWatch {
 public:
  // All are called on the watch's thread.
  struct Callbacks {
    std::function<void(gpu::XidEvent)> event;
    // After every subscription: the GPUs whose errors cannot be heard though they should be.
    std::function<void(std::vector<gpu::GpuUuid>)> deaf;
  };
  XidWatch(gpu::EventSource& source, Callbacks callbacks, const Log& log)
      : XidWatch(source, std::move(callbacks), log, Backoff()) {}
  XidWatch(gpu::EventSource& source, Callbacks callbacks, const Log& log, Backoff backoff);
  ~XidWatch();

  // Listens on the GPUs of `machine` from now on.
  void follow(gpu::Machine machine);

 private:
  void run(const std::stop_token& stop);
  std::optional<gpu::Machine> take_wish();
  bool subscribe(const gpu::Machine& machine);
  bool listen(const std::stop_token& stop);
  void complain(const Error& error);
  void pause(const std::stop_token& stop, std::chrono::milliseconds time);

  gpu::EventSource& source_;
  Callbacks callbacks_;
  const Log& log_;
  Backoff backoff_;
  std::string complaint_;              // last failure logged
  std::set<std::string> unsupported_;  // GPUs said to report no errors
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<gpu::Machine> wish_;
  std::jthread thread_;
};

}  // namespace tranche::agent
