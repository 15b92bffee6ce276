#pragma once
// Asks kubelet on its own thread what it gives out, so that a hanging kubelet stops nobody else.
// Any thread may call ask(). Questions during another one become one question after it.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "cluster/pod_resources.h"

namespace tranche::agent {

class KubeletAsker {
 public:
  // Called by the asker's thread.
  using Answered = std::function<void(Result<cluster::AllocatableDevices>)>;

  KubeletAsker(cluster::PodResources& kubelet, Answered answered)
      : kubelet_(kubelet),
        answered_(std::move(answered)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void ask() {
    {
      const std::scoped_lock lock(mutex_);
      asked_ = true;
    }
    wake_.notify_all();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return asked_; })) {
      if (stop.stop_requested()) return;
      asked_ = false;
      lock.unlock();
      answered_(kubelet_.allocatable());
      lock.lock();
    }
  }

  cluster::PodResources& kubelet_;
  Answered answered_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool asked_ = false;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace tranche::agent
