#include "top/source/poller.h"

#include <utility>

namespace tranche::top {

Poller::Poller(std::unique_ptr<Source> source, std::unique_ptr<Recorder> recorder,
               std::chrono::milliseconds interval)
    : source_(std::move(source)),
      recorder_(std::move(recorder)),
      interval_(interval),
      latest_{.name = source_->name()},
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Poller::Latest Poller::latest() const {
  const std::scoped_lock lock(mutex_);
  return latest_;
}

void Poller::read_once(const std::stop_token& stop) {
  auto reading = source_->read(stop);
  auto note = source_->note();
  if (reading && recorder_) {
    if (const auto kept = recorder_->append(*reading); !kept) note = kept.error().message();
  }
  const std::scoped_lock lock(mutex_);
  if (stop.stop_requested()) return;
  latest_.note = std::move(note);
  latest_.name = source_->name();
  if (reading) {
    latest_.reading = std::make_shared<const Reading>(*std::move(reading));
    latest_.at = std::chrono::steady_clock::now();
    latest_.trouble.clear();
    ++latest_.number;
  } else if (source_->paces() && reading.error().code == Code::kNotFound) {
    latest_.ended = true;
    if (latest_.number == 0) latest_.trouble = reading.error().what + ", without a reading";
  } else {
    latest_.trouble = reading.error().message();
  }
}

void Poller::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto begun = std::chrono::steady_clock::now();
    read_once(stop);
    std::unique_lock lock(mutex_);
    if (latest_.ended) break;
    // A source that paces itself, and fails, is not asked without a pause.
    if (source_->paces() && latest_.trouble.empty()) continue;
    changed_.wait_until(lock, stop, begun + interval_, [] { return false; });
  }
  const std::scoped_lock lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

bool Poller::stop(std::chrono::milliseconds longest) {
  thread_.request_stop();
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, longest, [&] { return done_; });
}

}  // namespace tranche::top
