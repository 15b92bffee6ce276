#pragma once
// Releases the driver while a GPU of this node is reset (process/driver_lock.h). Meanwhile NVML is
// not read, and limits are based on what processes charge. A reset request is noticed by an event
// of the tenants' folder, and within a second without one.

#include <memory>
#include <optional>
#include <string>

#include "arbiter/extension.h"
#include "nvml/connection.h"
#include "process/driver_lock.h"
#include "process/task_thread.h"

namespace tranche::arbiter {

class DriverPauses final : public Extension {
 public:
  // kIo: no eventfd.
  static Result<std::unique_ptr<Extension>> open(std::shared_ptr<nvml::Connection> driver,
                                                 const ExtensionContext& context);

  void look() override;
  void describe(limit::ArbiterStatus&) const override {}

 private:
  DriverPauses(std::shared_ptr<nvml::Connection> driver, const ExtensionContext& context,
               std::unique_ptr<process::TaskThread> thread);
  void begin();
  void release_driver();
  void paused(Result<std::shared_ptr<void>> pause);
  void warn_once(const std::string& what);

  std::shared_ptr<nvml::Connection> driver_;
  const Log& log_;
  process::DriverUser user_;
  std::string warned_;
  bool letting_go_ = false;
  // The driver is released for as long as this is held. It may be a null pointer with a deleter.
  std::optional<std::shared_ptr<void>> pause_;
  std::unique_ptr<process::TaskThread> thread_;  // last: it ends first
};

}  // namespace tranche::arbiter
