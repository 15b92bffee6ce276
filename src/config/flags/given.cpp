#include "config/flags/given.h"

#include <fmt/format.h>

#include "config/flags/values.h"

namespace tranche::config {
namespace {

std::vector<std::string> flag_texts(const FlagSpec& spec, const Sources& sources) {
  std::vector<std::string> texts;
  for (const auto& flag : sources.flags) {
    if (find_flag(flag.name, spec.uses) == &spec) texts.push_back(flag.value);
  }
  return texts;
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

}  // namespace tranche::config
