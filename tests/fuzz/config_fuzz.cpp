// Arbitrary configuration files for both programs. What is accepted must mean the same after
// printing as JSON and reading again; a refusal must name the place.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/file/load.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

// What legitimately differs after printing: lines, defaults that the printed form spells out, and
// what only the other program's form has.
config::Config comparable(config::Program program, config::Config config) {
  if (program == config::Program::kAgent) config.flags.gfd = {};
  for (auto* list : {&config.sharing.time_slicing, &config.sharing.mps}) {
    if (!*list) continue;
    for (auto& resource : (*list)->resources) resource.line = 0;
  }
  config.tranche.limits.line = 0;
  for (auto& entry : config.tranche.limits.resources) entry.line = 0;
  config.gpus.clear();
  config.migs.clear();
  return config;
}

// NVIDIA prints missing sharing as a `timeSlicing: {}` that its own parser refuses.
std::string readable(std::string json) {
  constexpr std::string_view kEmpty = "\"timeSlicing\": {}";
  const auto at = json.find(kEmpty);
  return at == std::string::npos ? json : json.replace(at, kEmpty.size(), "\"mps\": null");
}

void check(config::Program program, const std::string& text) {
  const auto loaded = config::load({.program = program, .file_text = text, .file_name = "f"});
  if (!loaded) {
    require(!loaded.error().what.empty());
    return;
  }
  // Bytes that are no UTF-8 are printed as U+FFFD.
  if (loaded->json.find("\xef\xbf\xbd") != std::string::npos) return;
  const auto again =
      config::load({.program = program, .file_text = readable(loaded->json), .file_name = "again"});
  require(again.has_value());
  require(comparable(program, again->config) == comparable(program, loaded->config));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(config::Program::kAgent, text);
  check(config::Program::kFeatureDiscovery, text);
  return 0;
}
