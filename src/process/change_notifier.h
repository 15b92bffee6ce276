#pragma once
// Notified from any thread when the cluster says something new about this node; heard by one
// listener at a time, and by nobody before the first and after the last. Thread-safe.

#include <functional>
#include <mutex>
#include <utility>

namespace tranche::process {

class ChangeNotifier {
 public:
  void notify() {
    const std::scoped_lock lock(mutex_);
    if (listener_) listener_();
  }
  // Takes the place of the listener before; null: none. After the return the old one is not called.
  void listen(std::function<void()> listener) {
    const std::scoped_lock lock(mutex_);
    listener_ = std::move(listener);
  }

 private:
  std::mutex mutex_;
  std::function<void()> listener_;
};

}  // namespace tranche::process
