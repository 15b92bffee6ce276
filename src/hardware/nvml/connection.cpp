#include "nvml/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tranche::nvml {
namespace {

constexpr const char* kKey = "nvml";
// How long a new session waits for the old one's owners. Longer than Options::event_slice, for
// which a thread may stay in NVML.
constexpr std::chrono::milliseconds kRelease{2000};

Error hang(const DeadlinePool::Outcome& outcome, std::chrono::milliseconds deadline) {
  return {.code = Code::kTimeout,
          .what = "NVML hangs: " + outcome.describe_hang(deadline),
          .hint =
              "look for NVRM messages in the kernel log (dmesg) and reset the GPUs or reboot the "
              "node; it is tried again"};
}

void wait_for_others(SessionCount& count, std::chrono::milliseconds at_most, Progress& progress) {
  std::unique_lock lock(count.mutex);
  progress.enter("waiting for NVML to end");
  count.changed.wait_for(lock, at_most, [&] { return count.open == 0; });
}

}  // namespace

std::string start_remedy(Return result) {
  switch (result) {
    case kDriverNotLoaded:
      return "load the NVIDIA kernel modules (nvidia-smi on the node must work), or label GPU-less "
             "nodes so that the agent does not run there";
    case kLibRmVersionMismatch:
      return "the driver was upgraded beneath its kernel modules: reload them or reboot the node, "
             "and see that the container mounts the running driver's libraries";
    case kNoPermission:
      return "let the container open /dev/nvidiactl and /dev/nvidia*: run it privileged or under "
             "the nvidia runtime class";
    case kGpuNotFound:
      return "no NVIDIA GPU is visible here: check lspci and the container's runtime class";
    default:
      return "run nvidia-smi on the node and see the kernel log (dmesg) for NVRM messages";
  }
}

Session::Session(std::shared_ptr<const Library> library, std::shared_ptr<SessionCount> count)
    : library_(std::move(library)), count_(std::move(count)) {
  const std::scoped_lock lock(count_->mutex);
  ++count_->open;
}

Result<std::shared_ptr<Session>> Session::open(std::shared_ptr<const Library> library,
                                               std::shared_ptr<SessionCount> count,
                                               Progress& progress) {
  const Api& api = library->api();
  Calls call(api, progress);
  const bool modern = api.nvmlInit_v2.pointer != nullptr;
  const char* name = modern ? api.nvmlInit_v2.name : api.nvmlInitWithFlags.name;
  const Return result = modern ? call(api.nvmlInit_v2) : call(api.nvmlInitWithFlags, 0U);
  if (result != kSuccess) {
    return fail(Code::kUnavailable, fmt::format("{}{}", kInitFailed, describe(api, name, result)),
                start_remedy(result));
  }
  // make_shared cannot call the private constructor.
  return std::shared_ptr<Session>(new Session(std::move(library), std::move(count)));
}

Session::~Session() {
  for (EventSet set : event_sets_) {
    if (api().nvmlEventSetFree.pointer != nullptr) api().nvmlEventSetFree.pointer(set);
  }
  for (GpmSample sample : gpm_samples_) {
    if (api().nvmlGpmSampleFree.pointer != nullptr) api().nvmlGpmSampleFree.pointer(sample);
  }
  api().nvmlShutdown.pointer();
  library_.reset();  // unload before the count lets the next session load the library
  const std::scoped_lock lock(count_->mutex);
  --count_->open;
  count_->changed.notify_all();
}

void Session::keep(EventSet set) {
  const std::scoped_lock lock(mutex_);
  event_sets_.push_back(set);
}

void Session::release(EventSet set) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::erase(event_sets_, set) == 0) return;
  }
  if (api().nvmlEventSetFree.pointer != nullptr) api().nvmlEventSetFree.pointer(set);
}

void Session::keep(GpmSample sample) {
  const std::scoped_lock lock(mutex_);
  gpm_samples_.push_back(sample);
}

void Session::release(GpmSample sample) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::erase(gpm_samples_, sample) == 0) return;
  }
  if (api().nvmlGpmSampleFree.pointer != nullptr) api().nvmlGpmSampleFree.pointer(sample);
}

Connection::Connection(Options options)
    : options_(std::move(options)), pool_({.deadline = options_.deadline}) {}

std::shared_ptr<Connection> Connection::make(Options options) {
  return std::shared_ptr<Connection>(new Connection(std::move(options)));
}

Connection::~Connection() { restart(); }

std::shared_ptr<Session> Connection::current() const {
  const std::scoped_lock lock(mutex_);
  return session_;
}

bool Connection::in_force(const Session* session) const {
  const std::scoped_lock lock(mutex_);
  return session_.get() == session;
}

Result<std::shared_ptr<Session>> Connection::session() {
  if (auto session = current()) return session;
  {
    std::unique_lock lock(pauses_->mutex);
    pauses_->changed.wait_for(lock, kLongestPause,
                              [this] { return pauses_->held == 0 || pauses_->refusing > 0; });
    if (pauses_->held > 0) {
      return fail(Code::kUnavailable, "NVML is let go of for as long as a GPU is reset");
    }
    ++pauses_->opening;
  }
  auto opened = open_session();
  const std::scoped_lock lock(pauses_->mutex);
  --pauses_->opening;
  pauses_->changed.notify_all();
  return opened;
}

Result<std::shared_ptr<Session>> Connection::session_of_present_driver() {
  const auto before = current();
  if (before != nullptr && before->library().replaced()) restart();
  return session();
}

Result<std::shared_ptr<Session>> Connection::open_session() {
  using Opened = Result<std::shared_ptr<Session>>;
  static constexpr auto without_library = [](Error error) -> Opened {
    error.what.insert(0, kNoLibrary);
    return std::unexpected(std::move(error));
  };
  auto opened = std::make_shared<std::optional<Opened>>();
  const auto outcome =
      pool_.run({.key = kKey,
                 .work = [opened, count = count_, root = options_.driver_root,
                          wait = std::min(kRelease, options_.deadline / 2)](Progress& progress) {
                   wait_for_others(*count, wait, progress);
                   progress.enter("dlopen");
                   auto library = Library::load(root);
                   *opened = library ? Session::open(*std::move(library), count, progress)
                                     : without_library(std::move(library).error());
                 }});
  if (!outcome.finished) return std::unexpected(hang(outcome, options_.deadline));
  if (!opened->value()) return std::unexpected(std::move(*opened)->error());
  auto session = **std::move(*opened);
  announce(session->library());
  const std::scoped_lock lock(mutex_);
  // Another thread may have opened a session meanwhile; then that one stays.
  if (session_ == nullptr) session_ = session;
  return session_;
}

void Connection::restart() {
  std::shared_ptr<Session> old;
  {
    const std::scoped_lock lock(mutex_);
    old.swap(session_);
  }
  if (old == nullptr) return;
  // On a thread of the pool, because nvmlShutdown may hang too. If it hangs, session() reports it.
  pool_.run({.key = kKey, .work = [old = std::move(old)](Progress& progress) mutable {
               progress.enter("nvmlShutdown");
               old.reset();
             }});
}

Result<std::shared_ptr<void>> Connection::release_driver(Meanwhile meanwhile) {
  const int refusing = meanwhile == Meanwhile::kRefuse ? 1 : 0;
  {
    std::unique_lock lock(pauses_->mutex);
    ++pauses_->held;
    pauses_->refusing += refusing;
    pauses_->changed.notify_all();
    pauses_->changed.wait(lock, [this] { return pauses_->opening == 0; });
  }
  std::shared_ptr<void> pause(nullptr, [pauses = pauses_, refusing](void*) {
    const std::scoped_lock lock(pauses->mutex);
    --pauses->held;
    pauses->refusing -= refusing;
    pauses->changed.notify_all();
  });
  restart();
  std::unique_lock lock(count_->mutex);
  const bool ended = count_->changed.wait_for(lock, options_.deadline + options_.event_slice,
                                              [this] { return count_->open == 0; });
  if (ended) return pause;
  return fail(Code::kTimeout, "a call of NVML hangs, so this process cannot let go of the GPUs");
}

void Connection::announce(const Library& library) {
  log(LogLevel::kDebug, fmt::format("NVML loaded from {}", library.path()));
  if (library.missing() == announced_) return;
  announced_ = library.missing();
  if (announced_.empty()) return;
  log(LogLevel::kWarn,
      fmt::format("{} lacks {}: what they tell is left out; a newer NVIDIA driver has them",
                  library.path(), fmt::join(announced_, ", ")));
}

void Connection::log(LogLevel level, const std::string& message) const {
  if (options_.log != nullptr) options_.log->write(level, message);
}

}  // namespace tranche::nvml
