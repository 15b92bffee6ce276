#pragma once
// Notifies a listener that the cluster's data about this node changed. Any thread may notify. There
// is at most one listener; without one a notification is lost. Thread-safe.

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
  // Replaces the listener; null: none. After this returns the old listener is not called.
  void listen(std::function<void()> listener) {
    const std::scoped_lock lock(mutex_);
    listener_ = std::move(listener);
  }

 private:
  std::mutex mutex_;
  std::function<void()> listener_;
};

}  // namespace tranche::process
