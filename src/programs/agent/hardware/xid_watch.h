#pragma once
// Listens for XIDs and changes of MIG layouts on its own thread. When waiting or subscribing fails,
// it subscribes again with back-off (1 s, 2 s and so on, up to 30 s), so a broken driver causes no
// busy loop.

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
    std::function<void()> layout;
    // Called after every subscription with the GPUs whose XIDs cannot be received though they
    // should.
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
  void hand_on(const gpu::Event& event);
  void complain(const Error& error);
  void pause(const std::stop_token& stop, std::chrono::milliseconds time);

  gpu::EventSource& source_;
  Callbacks callbacks_;
  const Log& log_;
  Backoff backoff_;
  std::string complaint_;              // logged last
  std::set<std::string> unsupported_;  // GPUs logged as unable to report XIDs
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<gpu::Machine> wish_;
  std::jthread thread_;
};

}  // namespace tranche::agent
