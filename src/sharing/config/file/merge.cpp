#include "config/file/merge.h"

#include <fmt/format.h>

#include "config/flags/flag_table.h"
#include "config/flags/given.h"
#include "config/flags/values.h"

namespace tranche::config {
namespace {

// NVIDIA's plugin leaves feature discovery's settings unset ("null") unless the file or a flag sets
// them; the defaults of GfdFlags hold then.
bool has_default(const FlagSpec& spec, Program program) {
  if (program == Program::kFeatureDiscovery) return true;
  return !spec.field.starts_with("flags.gfd.") && spec.field != "flags.useNodeFeatureAPI";
}

std::string_view default_of(const FlagSpec& spec, const Sources& sources) {
  const auto other = sources.defaults.find(spec.name);
  return other == sources.defaults.end() ? spec.default_text : other->second;
}

// The file's value that `winner` replaces has no effect.
void warn_if_hidden(const std::string& key, const Setting& winner, const Settings& settings,
                    Problems& problems) {
  const auto* hidden = settings.find(key);
  if (hidden == nullptr || hidden->value == winner.value) return;
  problems.warn(
      settings.where(key),
      fmt::format("has no effect, for {} has another value and wins", where(winner.place, {}, key)),
      "remove one of the two");
}

}  // namespace

void merge(const Sources& sources, Settings& settings, Problems& problems) {
  for (const auto& spec : flag_table()) {
    if ((spec.uses & use_of(sources.program)) == 0 || spec.field.empty()) continue;
    auto setting = given(spec, sources);
    if (!setting) problems.error(setting.error());
    if (setting && *setting) {
      warn_if_hidden(std::string(spec.field), **setting, settings, problems);
      settings.values.insert_or_assign(std::string(spec.field), **std::move(setting));
    } else if (has_default(spec, sources.program)) {
      settings.values.try_emplace(
          std::string(spec.field),
          Setting{value_from_default(spec.type, default_of(spec, sources)), {}});
    }
  }
}

}  // namespace tranche::config
