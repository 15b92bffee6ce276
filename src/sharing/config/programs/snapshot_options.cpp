#include "config/programs/snapshot_options.h"

#include <set>

#include "config/names.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

std::vector<cluster::ObjectKey> config_maps(OptionReader& reader) {
  std::set<cluster::ObjectKey> keys;
  for (const auto& text : reader.get<std::vector<std::string>>("config-map")) {
    const auto slash = text.find('/');
    const auto name = slash == std::string::npos ? "" : text.substr(slash + 1);
    if (!is_object_name(text.substr(0, slash)) || !is_object_name(name)) {
      reader.error("config-map", fmt::format("'{}' names no ConfigMap", text.substr(0, 80)),
                   "write NAMESPACE/NAME");
      continue;
    }
    keys.insert({text.substr(0, slash), name});
  }
  return {keys.begin(), keys.end()};
}

std::string operator_namespace(OptionReader& reader) {
  auto name = reader.get<std::string>("operator-namespace");
  if (!name.empty() && !is_object_name(name)) {
    reader.error("operator-namespace", fmt::format("'{}' is no name", name.substr(0, 80)),
                 "write lower-case letters, digits and '-'");
  }
  return name;
}

}  // namespace

Result<SnapshotOptions> load_snapshot_options(const Sources& sources) {
  OptionReader reader(sources, kUseSnapshot);
  SnapshotOptions options{.file = reader.get<std::string>("output"),
                          .anonymize = reader.get<bool>("anonymize"),
                          .snapshot = reader.snapshot(),
                          .config_maps = config_maps(reader),
                          .operator_namespace = operator_namespace(reader),
                          .api_server = reader.api_server()};
  if (options.file == "-") options.file.clear();
  if (!options.snapshot.empty() && !options.anonymize) {
    reader.error("snapshot", "it is one already", "add --anonymize");
  }
  return reader.result(std::move(options));
}

}  // namespace tranche::config
