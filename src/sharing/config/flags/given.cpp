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

// What Go's flag package calls a value of the type.
std::string_view noun_of(FlagType type) {
  static constexpr std::string_view kNouns[] = {"string",    "bool",         "int",     "float64",
                                                "int slice", "string slice", "duration"};
  return kNouns[static_cast<std::size_t>(type)];
}

// Both as NVIDIA's programs put it.
std::unexpected<Error> unreadable_flag(const FlagSpec& spec, std::string_view text, Error error) {
  const auto shown = text.substr(0, 80);
  error.what =
      spec.type == FlagType::kBool
          ? fmt::format("invalid boolean value \"{}\" for -{}: parse error", shown, spec.name)
          : fmt::format("invalid value \"{}\" for flag -{}: {}", shown, spec.name, error.what);
  return std::unexpected(std::move(error));
}

std::unexpected<Error> unreadable_variable(const FlagSpec& spec, std::string_view name,
                                           std::string_view text, Error error) {
  const auto shown = text.substr(0, 80);
  error.what =
      spec.type == FlagType::kDuration
          ? fmt::format(
                "could not parse \"{}\" from environment variable \"{}\" as value for flag {}: {}",
                shown, name, spec.name, error.what)
          : fmt::format(
                "could not parse \"{}\" as {} value from environment variable \"{}\" for flag {}: "
                "{}",
                shown, noun_of(spec.type), name, spec.name, error.what);
  return std::unexpected(std::move(error));
}

}  // namespace

FlagUse use_of(Program program) {
  return program == Program::kAgent ? kUseAgent : kUseFeatureDiscovery;
}

Result<std::optional<Setting>> given(const FlagSpec& spec, const Sources& sources) {
  if (const auto texts = flag_texts(spec, sources); !texts.empty()) {
    auto value = value_from_flag(spec.type, texts);
    if (!value) return unreadable_flag(spec, texts.back(), std::move(value).error());
    return Setting{*std::move(value), {.from = Place::From::kFlag, .name = std::string(spec.name)}};
  }
  for (const auto name : spec.environment) {
    const auto found = sources.environment.find(std::string(name));
    if (found == sources.environment.end()) continue;
    auto value = value_from_environment(spec.type, found->second);
    if (!value) return unreadable_variable(spec, name, found->second, std::move(value).error());
    if (!*value) return std::nullopt;
    return Setting{**std::move(value),
                   {.from = Place::From::kEnvironment, .name = std::string(name)}};
  }
  return std::nullopt;
}

}  // namespace tranche::config
