#include "agent/hardware/xid_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tranche::agent {
namespace {

// The longest single wait, and so the delay until a changed set of GPUs is followed.
constexpr std::chrono::seconds kWait{2};

}  // namespace

XidWatch::XidWatch(gpu::EventSource& source, Callbacks callbacks, const Log& log, Backoff backoff)
    : source_(source), callbacks_(std::move(callbacks)), log_(log), backoff_(backoff) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

XidWatch::~XidWatch() {
  thread_.request_stop();
  thread_.join();
}

void XidWatch::follow(gpu::Machine machine) {
  {
    const std::scoped_lock lock(mutex_);
    wish_ = std::move(machine);
  }
  changed_.notify_all();
}

std::optional<gpu::Machine> XidWatch::take_wish() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(wish_, std::nullopt);
}

void XidWatch::run(const std::stop_token& stop) {
  std::optional<gpu::Machine> machine;
  bool subscribed = false;
  while (!stop.stop_requested()) {
    if (auto wish = take_wish()) {
      machine = std::move(wish);
      subscribed = false;
    }
    if (!machine) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return wish_.has_value(); });
      continue;
    }
    if (!subscribed) subscribed = subscribe(*machine);
    if (subscribed && listen(stop)) {
      backoff_.reset();
      continue;
    }
    subscribed = false;
    pause(stop, backoff_.next());
  }
}

bool XidWatch::subscribe(const gpu::Machine& machine) {
  auto subscription = source_.subscribe(machine);
  if (!subscription) {
    complain(subscription.error());
    return false;
  }
  for (const auto& uuid : subscription->unsupported) {
    if (!unsupported_.insert(uuid.value).second) continue;
    log_.warn(fmt::format(
        "{} cannot report errors (XIDs): its health is known only from whether it answers",
        uuid.value));
  }
  callbacks_.deaf(std::move(subscription->failed));
  return true;
}

bool XidWatch::listen(const std::stop_token& stop) {
  auto event = source_.wait(kWait, stop);
  if (!event) {
    complain(event.error());
    return false;
  }
  complaint_.clear();
  if (*event) hand_on(**event);
  return true;
}

void XidWatch::hand_on(const gpu::Event& event) {
  if (const auto* xid = std::get_if<gpu::XidEvent>(&event)) {
    callbacks_.event(*xid);
  } else if (callbacks_.layout) {
    callbacks_.layout();
  }
}

void XidWatch::complain(const Error& error) {
  if (complaint_ == error.what) return;
  complaint_ = error.what;
  log_.warn(fmt::format("cannot listen for GPU errors: {}; trying again until it works",
                        error.message()));
}

void XidWatch::pause(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, time, [this] { return wish_.has_value(); });
}

}  // namespace tranche::agent
