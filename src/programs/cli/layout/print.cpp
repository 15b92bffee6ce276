#include "cli/layout/print.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/fs.h"
#include "cli/shell/output.h"
#include "mig/place.h"

namespace tranche::cli {

using Output = config::LayoutOptions::Output;

config::OutputForm form_of(Output output) {
  return output == Output::kJson ? config::OutputForm::kJson : config::OutputForm::kYaml;
}

bool is_coloured(const std::map<std::string, std::string>& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  return value("NO_COLOR").empty() && value("TERM") != "dumb" && isatty(STDOUT_FILENO) == 1;
}

json::Value with_layout(json::Value object, const mig::GpuLayout& layout,
                        const gpu::MigGeometry& geometry) {
  auto instances = json::Value::array();
  for (const auto& one : layout.instances) {
    const auto* profile = geometry.find(one.profile_id);
    instances.push_back({{"profile", profile == nullptr ? "" : profile->name},
                         {"profileId", one.profile_id},
                         {"start", one.placement.start},
                         {"size", one.placement.size},
                         {"computeInstances", one.compute}});
  }
  const auto stranded = mig::stranded(layout, geometry);
  object["migEnabled"] = layout.enabled;
  object["instances"] = std::move(instances);
  object["strandedComputeSlices"] = stranded.compute_slices;
  object["strandedMemorySlices"] = stranded.memory_slices;
  return object;
}

int print(const LayoutCall& call, const config::LayoutOptions& options,
          const std::vector<mig::PicturedGpu>& gpus, const json::Value& document,
          const std::string& notes, int code) {
  if (!options.svg_file.empty()) {
    const auto file = std::filesystem::absolute(options.svg_file);
    if (std::filesystem::is_directory(file)) {
      return refuse(call, "flag --svg: " + file.string() + " is a folder; name a file");
    }
    const auto written = FsRoot().write_atomic(file, mig::svg_picture(gpus));
    if (!written) return end(call, written.error());
  }
  switch (options.output) {
    case Output::kSvg:
      fmt::print("{}", mig::svg_picture(gpus));
      break;
    case Output::kJson:
    case Output::kYaml:
      fmt::print("{}", written(document, form_of(options.output)));
      break;
    default:
      fmt::print("{}{}", mig::text_picture(gpus, is_coloured(call.invocation.environment)), notes);
  }
  return code;
}

}  // namespace tranche::cli
