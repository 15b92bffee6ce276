#pragma once
// gpu::EventSource over an NVML event set. Not thread-safe: one owner at a time. wait() may run on
// a different thread than subscribe(), but not at the same time.
//
// The EventSource's thread calls nvmlEventSetWait repeatedly, for a slice of time each, and queues
// the events until wait() takes them. So wait() sees a stop request at once, no event is lost
// between two waits, and a hanging call makes wait() return an error instead of blocking the
// caller. The thread shares ownership of all that it uses. After NVML was reinitialised
// (nvml/connection.h) the next wait() subscribes again by itself. GPUs that are not kPresent in the
// machine are skipped: subscribe again when they return.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "gpu/events.h"
#include "nvml/connection.h"

namespace tranche::nvml {

class EventSource final : public gpu::EventSource {
 public:
  explicit EventSource(std::shared_ptr<Connection> connection);
  ~EventSource() override;

  // kUnavailable: NVML is not initialised; read the machine first. With a driver that has no
  // events, all GPUs are in `unsupported`.
  Result<Subscription> subscribe(const gpu::Machine& machine) override;
  // kUnavailable: NVML failed or is gone; kTimeout: it hangs; kFailedPrecondition: not subscribed.
  Result<std::optional<gpu::Event>> wait(std::chrono::milliseconds timeout,
                                         std::stop_token stop) override;

 private:
  struct Listener;  // the state shared with the thread

  void stop_listening();
  Result<void> start_listening(const std::shared_ptr<Session>& session, std::vector<gpu::Gpu> gpus,
                               Subscription& subscription);

  std::shared_ptr<Connection> connection_;
  gpu::Machine machine_;  // at the last subscription
  std::shared_ptr<Listener> listener_;
};

}  // namespace tranche::nvml
