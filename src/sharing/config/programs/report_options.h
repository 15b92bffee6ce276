#pragma once
// The settings of `tranche report`, from flags. Pure.

#include <string>

#include "base/api_server.h"
#include "base/controller_service.h"
#include "base/result.h"
#include "config/flags/sources.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct ReportOptions {
  OutputForm output = OutputForm::kTable;
  std::string html = {};           // the file; "": no page is written
  int near = 90;                   // percent
  std::string fleet = {};          // a file; "": none; "-": standard input
  std::string snapshot = {};       // a file; "": none
  ControllerService service = {};  // without a name: the controller is not asked
  ApiServer api_server = {};
  bool operator==(const ReportOptions&) const = default;
};

// Reads the flags and environment of `sources`. kInvalidArgument with every error, one per line.
Result<ReportOptions> load_report_options(const Sources& sources);

}  // namespace tranche::config
