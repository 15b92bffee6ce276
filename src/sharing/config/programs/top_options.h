#pragma once
// The settings of `tranche top`, from flags. Pure.

#include <chrono>
#include <cstdint>
#include <string>

#include "base/api_server.h"
#include "base/controller_service.h"
#include "base/result.h"
#include "config/flags/sources.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct TopOptions {
  enum class From { kAgent, kLocal, kController, kCluster, kReplay };
  From from = From::kAgent;
  bool agent_by_default = true;  // no flag says where from: the driver is asked if no agent answers
  std::string server = {};       // URL of the agent or the controller
  ControllerService service = {};
  ApiServer api_server = {};
  std::string token_file = {};
  std::string ca_file = {};
  std::string replay = {};
  double speed = 1;
  std::string record = {};
  std::uint64_t record_limit = 0;
  bool once = false;
  std::chrono::milliseconds interval{};
  OutputForm output = OutputForm::kTable;
  std::string filter = {};
  std::string sort = {};  // a choice of --sort
  bool reverse = false;
  bool tree = true;
  bool processes = true;
  std::string theme = {};  // a choice of --theme
  bool ascii = false;
  bool operator==(const TopOptions&) const = default;
};

// Reads the flags and environment of `sources`. kInvalidArgument with every error, one per line.
Result<TopOptions> load_top_options(const Sources& sources);

}  // namespace tranche::config
