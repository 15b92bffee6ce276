#include "config/programs/report_options.h"

#include <algorithm>

#include "config/programs/controller_service.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

int near_of(OptionReader& reader) {
  const auto percent = reader.get<std::int64_t>("near");
  if (percent >= 1 && percent <= 100) return static_cast<int>(percent);
  reader.error("near", fmt::format("{} is no part of a limit", percent), "write 1 to 100");
  return 100;
}

}  // namespace

Result<ReportOptions> load_report_options(const Sources& sources) {
  OptionReader reader(sources, kUseReport);
  ReportOptions options{.output = read_output_form(reader),
                        .html = reader.get<std::string>("html"),
                        .near = near_of(reader),
                        .fleet = reader.get<std::string>("fleet"),
                        .snapshot = reader.snapshot(),
                        .service = read_controller_service(reader),
                        .api_server = reader.api_server()};
  if (!options.fleet.empty() &&
      (!options.snapshot.empty() || reader.is_flag("kubeconfig") || reader.is_flag("context"))) {
    reader.error("fleet", "it stands beside a cluster or a snapshot", "leave out one of them");
  }
  if (!options.service.name.empty() && (!options.fleet.empty() || !options.snapshot.empty())) {
    reader.error("service", "a file is read, and no controller", "leave out one of them");
  }
  if (!options.html.empty() && reader.is_flag("output")) {
    reader.error("html", "it is an output of its own", "leave out --output");
  }
  return reader.result(std::move(options));
}

}  // namespace tranche::config
