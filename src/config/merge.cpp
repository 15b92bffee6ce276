#include "config/merge.h"

#include <fmt/format.h>

#include "config/values.h"

namespace tranche::config {
namespace {

std::vector<std::string> flag_texts(const FlagSpec& spec, const Sources& sources) {
  std::vector<std::string> texts;
  for (const auto& flag : sources.flags) {
    if (find_flag(flag.name, spec.uses) == &spec) texts.push_back(flag.value);
  }
  return texts;
}

// NVIDIA's plugin leaves feature discovery's settings unset ("null") unless the file or a flag sets
// them; the defaults of GfdFlags hold then.
bool has_default(const FlagSpec& spec, Program program) {
  if (program == Program::kFeatureDiscovery) return true;
  return !spec.field.starts_with("flags.gfd.") && spec.field != "flags.useNodeFeatureAPI";
}

}  // namespace

FlagUse use_of(Program program) {
  return program == Program::kAgent ? kUseAgent : kUseFeatureDiscovery;
}

Result<std::optional<Setting>> given(const FlagSpec& spec, const Sources& sources) {
  if (const auto texts = flag_texts(spec, sources); !texts.empty()) {
    auto value = value_from_flag(spec.type, texts);
    if (!value) {
      return std::unexpected(
          std::move(value).error().with_context(fmt::format("flag --{}", spec.name)));
    }
    return Setting{*std::move(value), {.from = Place::From::kFlag, .name = std::string(spec.name)}};
  }
  for (const auto name : spec.environment) {
    const auto found = sources.environment.find(std::string(name));
    if (found == sources.environment.end()) continue;
    auto value = value_from_environment(spec.type, found->second);
    if (!value) {
      return std::unexpected(
          std::move(value).error().with_context(fmt::format("environment {}", name)));
    }
    if (!*value) return std::nullopt;
    return Setting{**std::move(value),
                   {.from = Place::From::kEnvironment, .name = std::string(name)}};
  }
  return std::nullopt;
}

void merge(const Sources& sources, Settings& settings, Problems& problems) {
  for (const auto& spec : flag_table()) {
    if ((spec.uses & use_of(sources.program)) == 0 || spec.field.empty()) continue;
    auto setting = given(spec, sources);
    if (!setting) problems.error(setting.error());
    if (setting && *setting) {
      settings.values.insert_or_assign(std::string(spec.field), **std::move(setting));
    } else if (has_default(spec, sources.program)) {
      settings.values.try_emplace(std::string(spec.field),
                                  Setting{value_from_default(spec.type, spec.default_text), {}});
    }
  }
}

}  // namespace tranche::config
