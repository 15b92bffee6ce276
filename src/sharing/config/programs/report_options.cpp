#include "config/programs/report_options.h"

#include <algorithm>

#include "config/names.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

OutputForm report_form(OptionReader& reader) {
  const auto text = reader.choice("output", "no form");
  if (text == "json") return OutputForm::kJson;
  return text == "yaml" ? OutputForm::kYaml : OutputForm::kTable;
}

// It becomes part of a path.
bool is_service(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
  });
}

void read_service(OptionReader& reader, ReportOptions& options) {
  const auto text = reader.get<std::string>("service");
  if (text.empty()) return;
  const auto slash = std::min(text.find('/'), text.size());
  options.service_namespace = text.substr(0, slash);
  options.service = text.substr(std::min(slash + 1, text.size()));
  if (is_object_name(options.service_namespace) && is_service(options.service)) return;
  reader.error("service", fmt::format("'{}' is no Service", text.substr(0, 80)),
               "write NAMESPACE/NAME:PORT, such as tranche/tranche-controller-web:web");
}

int near_of(OptionReader& reader) {
  const auto percent = reader.get<std::int64_t>("near");
  if (percent >= 1 && percent <= 100) return static_cast<int>(percent);
  reader.error("near", fmt::format("{} is no part of a limit", percent), "write 1 to 100");
  return 100;
}

}  // namespace

Result<ReportOptions> load_report_options(const Sources& sources) {
  OptionReader reader(sources, kUseReport);
  ReportOptions options{.output = report_form(reader),
                        .html = reader.get<std::string>("html"),
                        .near = near_of(reader),
                        .fleet = reader.get<std::string>("fleet"),
                        .snapshot = reader.snapshot(),
                        .api_server = reader.api_server()};
  read_service(reader, options);
  if (!options.fleet.empty() &&
      (!options.snapshot.empty() || reader.is_flag("kubeconfig") || reader.is_flag("context"))) {
    reader.error("fleet", "it stands beside a cluster or a snapshot", "leave out one of them");
  }
  if (!options.service.empty() && (!options.fleet.empty() || !options.snapshot.empty())) {
    reader.error("service", "a file is read, and no controller", "leave out one of them");
  }
  if (!options.html.empty() && reader.is_flag("output")) {
    reader.error("html", "it is an output of its own", "leave out --output");
  }
  return reader.result(std::move(options));
}

}  // namespace tranche::config
