#include "arbiter/pause/driver_pause.h"

#include <utility>

#include "arbiter/pause/extension.h"

namespace tranche::arbiter {
namespace {

using Meanwhile = nvml::Connection::Meanwhile;

constexpr const char* kRelease = "a GPU of this node is to be reset: NVML is let go of";

}  // namespace

Result<std::unique_ptr<Extension>> DriverPauses::open(std::shared_ptr<nvml::Connection> driver,
                                                      const ExtensionContext& context) {
  ASSIGN_OR_RETURN(auto thread, process::TaskThread::start(context.poller));
  std::unique_ptr<DriverPauses> pauses(
      new DriverPauses(std::move(driver), context, std::move(thread)));
  // No session has begun, so this returns at once.
  pauses->paused(pauses->driver_->release_driver(Meanwhile::kRefuse));
  pauses->begin();
  if (pauses->pause_) pauses->log_.info(kRelease);
  return pauses;
}

DriverPauses::DriverPauses(std::shared_ptr<nvml::Connection> driver,
                           const ExtensionContext& context,
                           std::unique_ptr<process::TaskThread> thread)
    : driver_(std::move(driver)),
      log_(context.log),
      user_(context.tenants / process::kDriverLock),
      thread_(std::move(thread)) {}

void DriverPauses::look() {
  if (pause_) {
    begin();
  } else if (!letting_go_ && user_.is_unwanted()) {
    release_driver();
  }
}

// If the file cannot be created, no program can use it to request the driver.
void DriverPauses::begin() {
  const auto may = user_.begin();
  if (!may) warn_once(may.error().message());
  if (may && !*may) return;
  pause_.reset();
}

// NVML's end may take long, so it is waited for on another thread.
void DriverPauses::release_driver() {
  letting_go_ = true;
  thread_->post([this, driver = driver_]() -> process::TaskThread::Done {
    return [this, pause = driver->release_driver(Meanwhile::kRefuse)] { paused(pause); };
  });
}

void DriverPauses::paused(Result<std::shared_ptr<void>> pause) {
  letting_go_ = false;
  if (!pause) {
    warn_once(pause.error().message());
    return;
  }
  warned_.clear();
  pause_ = *std::move(pause);
  user_.end();
  if (user_.is_unwanted()) log_.info(kRelease);
}

void DriverPauses::warn_once(const std::string& what) {
  if (std::exchange(warned_, what) != what) log_.warn(what);
}

namespace pause {

MakeExtension extension(const std::shared_ptr<nvml::Connection>& driver) {
  return [driver](const ExtensionContext& context) { return DriverPauses::open(driver, context); };
}

}  // namespace pause
}  // namespace tranche::arbiter
