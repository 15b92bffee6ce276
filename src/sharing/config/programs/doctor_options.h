#pragma once
// The settings of `tranche doctor`, from flags and environment. Pure.

#include <string>

#include "base/api_server.h"
#include "base/result.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct DoctorOptions {
  OutputForm output = OutputForm::kTable;
  std::string driver_root;  // as this process sees it
  std::string host_root;    // under which /proc is read
  std::string kubelet_root;
  std::string state_dir;          // the agent's
  std::string arbiter_state_dir;  // "": there should be no arbiter
  // Where the agent here should serve metrics; "": nowhere.
  std::string metrics_address;  // "127.0.0.1:9400", ":9400"
  std::string node_name;        // "": unknown
  ApiServer api_server;
  bool operator==(const DoctorOptions&) const = default;
};

// kInvalidArgument with every error, one per line.
Result<DoctorOptions> load_doctor_options(const Sources& sources);

}  // namespace tranche::config
