#pragma once
// This machine's GPUs, for the words of `tranche layout` that read or change them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/programs/layout_file_options.h"
#include "gpu/machine.h"
#include "mig/layout.h"
#include "mig/parted.h"
#include "nvml/connection.h"
#include "nvml/mig_control.h"

namespace tranche::cli {

class LayoutMachine {
 public:
  // kUnavailable, kTimeout: there is no driver, or it does not answer.
  static Result<LayoutMachine> open(const config::LayoutFileOptions& options);

  const gpu::Machine& machine() const { return machine_; }
  nvml::MigControl& control() { return *control_; }
  // The layouts of the GPUs with MIG.
  Result<mig::Layout> present();
  // "python (pid 4711)" for each process that uses one of the devices, by NVML's lists. `with_mps`:
  // with MPS servers, which are not users themselves.
  Result<std::vector<std::string>> users_of(const std::vector<std::string>& uuids,
                                            bool with_mps = true) const;
  const std::shared_ptr<nvml::Connection>& connection() const { return connection_; }

 private:
  LayoutMachine(std::shared_ptr<nvml::Connection> connection, gpu::Machine machine, FsRoot host)
      : connection_(std::move(connection)),
        machine_(std::move(machine)),
        host_(std::move(host)),
        control_(std::make_unique<nvml::MigControl>(connection_)) {}

  std::shared_ptr<nvml::Connection> connection_;
  gpu::Machine machine_;
  FsRoot host_;
  std::unique_ptr<nvml::MigControl> control_;
};

// A layout in a file.
struct ChosenLayout {
  mig::PartedFile file;
  std::string name;
};
// `machine`: for the default layouts, if no file is named; null: a file is needed.
// kInvalidArgument: the file has errors, or several layouts and none is chosen. kNotFound: no such
// file or layout.
Result<ChosenLayout> choose_layout(const config::LayoutFileOptions& options,
                                   const gpu::Machine* machine);

}  // namespace tranche::cli
