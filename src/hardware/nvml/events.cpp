#include "nvml/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "nvml/registration.h"

namespace tranche::nvml {
namespace {

// The most events that wait to be taken. More different ones do not come at once: a longer storm
// repeats itself.
constexpr std::size_t kKept = 256;

// How often wait() looks whether NVML is up again after a restart.
constexpr std::chrono::milliseconds kRestartPoll{20};

std::optional<int> to_instance(std::uint32_t id) {
  return id == kNoInstance ? std::nullopt : std::optional(static_cast<int>(id));
}

gpu::XidEvent xid_of(const EventData& data, std::optional<gpu::GpuUuid> gpu) {
  gpu::XidEvent event = {.xid = data.data,
                         .gpu = std::move(gpu),
                         .gpu_instance_id = to_instance(data.gpu_instance_id)};
  if (event.gpu_instance_id) event.compute_instance_id = to_instance(data.compute_instance_id);
  return event;
}

}  // namespace

struct EventSource::Listener {
  // These are set before the thread starts and do not change.
  std::weak_ptr<Connection> connection;
  std::weak_ptr<Session> session;
  EventSet set = nullptr;
  std::map<Device, gpu::GpuUuid> uuids;
  std::chrono::milliseconds slice{};
  bool supported = true;  // false: no GPU reports events, and no thread runs

  Progress progress;
  std::mutex mutex;
  std::condition_variable_any changed;
  // Guarded by mutex.
  std::deque<gpu::Event> events;
  std::optional<Error> error;
  bool stop = false;
  bool ended = false;

  static void listen(const std::shared_ptr<Listener>& self);
  bool wanted();
  // Waits for one slice of time; false: the thread must end.
  bool listen_once();
  void keep(gpu::Event event);
  // nullopt: the driver does not name the GPU.
  std::optional<gpu::GpuUuid> gpu_of(Calls& call, const EventData& data) const;
  void fail_with(Error what);
};

void EventSource::Listener::listen(const std::shared_ptr<Listener>& self) {
  while (self->wanted() && self->listen_once()) {
  }
  if (const auto session = self->session.lock()) session->release(self->set);
  const std::scoped_lock lock(self->mutex);
  self->ended = true;
  self->changed.notify_all();
}

bool EventSource::Listener::wanted() {
  const std::scoped_lock lock(mutex);
  return !stop;
}

bool EventSource::Listener::listen_once() {
  // The session is held for this slice only, so that NVML can be started afresh in between.
  const auto owner = connection.lock();
  const auto current = session.lock();
  if (owner == nullptr || current == nullptr || !owner->in_force(current.get())) return false;
  Calls call(current->api(), progress);
  EventData data = {};
  const Return result =
      call(current->api().nvmlEventSetWait_v2, set, &data, static_cast<unsigned>(slice.count()));
  if (result == kTimeout) return true;
  if (result == kSuccess) {
    if (data.type == kEventXid) keep(xid_of(data, gpu_of(call, data)));
    if (data.type == kEventMigConfigChange) keep(gpu::LayoutEvent{gpu_of(call, data)});
    return true;
  }
  fail_with({.code = Code::kUnavailable,
             .what = "waiting for GPU events fails: " +
                     call.describe(current->api().nvmlEventSetWait_v2.name, result),
             .hint = "see dmesg for NVRM messages; it is tried again"});
  return false;
}

std::optional<gpu::GpuUuid> EventSource::Listener::gpu_of(Calls& call,
                                                          const EventData& data) const {
  if (const auto found = uuids.find(data.device); found != uuids.end()) return found->second;
  char uuid[kStringSize] = {};
  const Return result = call(call.api().nvmlDeviceGetUUID, data.device, uuid, kStringSize);
  return result == kSuccess ? std::optional(gpu::GpuUuid{text(uuid)}) : std::nullopt;
}

void EventSource::Listener::keep(gpu::Event event) {
  const std::scoped_lock lock(mutex);
  if (std::ranges::find(events, event) != events.end()) return;  // the same event waits already
  if (events.size() >= kKept) events.pop_front();
  events.push_back(std::move(event));
  changed.notify_all();
}

void EventSource::Listener::fail_with(Error what) {
  const std::scoped_lock lock(mutex);
  error = std::move(what);
}

EventSource::EventSource(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

EventSource::~EventSource() {
  stop_listening();
  if (listener_ == nullptr || !listener_->supported) return;
  // The process may end right after this, so wait until the thread has left NVML (unless NVML
  // hangs).
  std::unique_lock lock(listener_->mutex);
  listener_->changed.wait_for(lock, listener_->slice + std::chrono::seconds(1),
                              [&] { return listener_->ended; });
}

void EventSource::stop_listening() {
  if (listener_ == nullptr) return;
  const std::scoped_lock lock(listener_->mutex);
  listener_->stop = true;
}

Result<EventSource::Subscription> EventSource::subscribe(const gpu::Machine& machine) {
  stop_listening();
  listener_.reset();
  const auto session = connection_->current();
  if (session == nullptr) {
    return fail(Code::kUnavailable, "GPU events cannot be listened on: NVML is not up",
                "it is tried again after the next reading of the machine");
  }
  machine_ = machine;
  std::vector<gpu::Gpu> gpus;
  std::ranges::copy_if(machine.gpus, std::back_inserter(gpus),
                       [](const gpu::Gpu& gpu) { return gpu.presence == gpu::Presence::kPresent; });
  Subscription subscription;
  TRY(start_listening(session, std::move(gpus), subscription));
  return subscription;
}

Result<void> EventSource::start_listening(const std::shared_ptr<Session>& session,
                                          std::vector<gpu::Gpu> gpus, Subscription& subscription) {
  ASSIGN_OR_RETURN(auto registered, register_gpus(*connection_, session, std::move(gpus)));
  subscription = std::move(registered.subscription);
  auto listener = std::make_shared<Listener>();
  listener->supported = registered.set != nullptr;
  if (listener->supported) {
    listener->connection = connection_;
    listener->session = session;
    listener->set = registered.set;
    listener->uuids = std::move(registered.uuids);
    listener->slice = connection_->options().event_slice;
    listener->progress.enter("start");
    try {
      std::thread([listener] { Listener::listen(listener); }).detach();
    } catch (const std::system_error& error) {
      session->release(registered.set);
      return fail(Code::kUnavailable,
                  fmt::format("no thread to listen for GPU events: {}", error.what()),
                  "raise the process limit (pids) of the container");
    }
  }
  listener_ = std::move(listener);
  return {};
}

Result<std::optional<gpu::Event>> EventSource::wait(std::chrono::milliseconds timeout,
                                                    std::stop_token stop) {
  if (listener_ == nullptr) {
    return fail(Code::kFailedPrecondition, "GPU events are not listened on", "subscribe first");
  }
  const auto until = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(listener_->mutex);
  listener_->changed.wait_until(lock, stop, until,
                                [&] { return !listener_->events.empty() || listener_->ended; });
  if (!listener_->events.empty()) {
    auto event = std::move(listener_->events.front());
    listener_->events.pop_front();
    return event;
  }
  if (!listener_->ended) {
    const auto silent = std::chrono::steady_clock::now() - listener_->progress.since();
    if (!listener_->supported || silent < connection_->options().deadline + listener_->slice) {
      return std::nullopt;
    }
    return fail(Code::kTimeout,
                fmt::format("waiting for GPU events hangs in {}", listener_->progress.call()),
                "see dmesg for NVRM messages, reset the GPUs or reboot the node");
  }
  if (listener_->error) return std::unexpected(*listener_->error);
  if (stop.stop_requested()) return std::nullopt;
  // NVML is being started afresh: wait for the new session and subscribe on it again.
  while (connection_->current() == nullptr && std::chrono::steady_clock::now() < until) {
    if (stop.stop_requested()) return std::nullopt;
    listener_->changed.wait_for(lock, stop, kRestartPoll, [] { return false; });
  }
  lock.unlock();
  ASSIGN_OR_RETURN(auto subscription, subscribe(gpu::Machine(machine_)));
  for (const auto& uuid : subscription.failed) {
    connection_->log(LogLevel::kWarn,
                     fmt::format("GPU {}: its events cannot be listened on after NVML was started "
                                 "afresh; it is tried again at the next restart",
                                 uuid.value));
  }
  return std::nullopt;
}

}  // namespace tranche::nvml
