#pragma once
// gpu::EventSource over an NVML event set. One owner at a time: not thread-safe, but wait() may be
// called from another thread than subscribe(), one after the other.
//
// A thread of its own stands in nvmlEventSetWait, in slices, and keeps what arrives until wait()
// asks: a stop request is seen at once, nothing is lost between two waits, and a call that hangs is
// an error of wait() and not a blocked caller. The thread shares ownership of what it touches. When
// NVML was started afresh (nvml/connection.h), the next wait() listens anew by itself. GPUs that
// are not kPresent in the machine are not listened on: subscribe again when they return.

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

  // kUnavailable when NVML is not up: read the machine first. A driver without events supports them
  // on no GPU.
  Result<Subscription> subscribe(const gpu::Machine& machine) override;
  // kUnavailable: NVML failed or is gone; kTimeout: it hangs; kFailedPrecondition: not subscribed.
  Result<std::optional<gpu::XidEvent>> wait(std::chrono::milliseconds timeout,
                                            std::stop_token stop) override;

 private:
  struct Listener;  // what the thread shares

  void stop_listening();
  Result<void> start_listening(const std::shared_ptr<Session>& session, std::vector<gpu::Gpu> gpus,
                               Subscription& subscription);

  std::shared_ptr<Connection> connection_;
  gpu::Machine machine_;  // what was subscribed to last
  std::shared_ptr<Listener> listener_;
};

}  // namespace tranche::nvml
