// tranche layout: see docs/mig.md.

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "base/edit_distance.h"
#include "base/exit_code.h"
#include "cli/command.h"
#include "cli/flags_to_sources.h"
#include "cli/help.h"
#include "cli/layout.h"
#include "config/flags/command_line.h"
#include "gpu/models.h"

namespace tranche::cli {
namespace {

struct LayoutWord {
  std::string_view name;
  int (*run)(const LayoutCall&);
};
constexpr std::array kLayoutRuns = {
    LayoutWord{"list", run_layout_list},     LayoutWord{"validate", run_layout_validate},
    LayoutWord{"pack", run_layout_pack},     LayoutWord{"show", run_layout_show},
    LayoutWord{"assert", run_layout_assert}, LayoutWord{"apply", run_layout_apply},
    LayoutWord{"export", run_layout_export}, LayoutWord{"defaults", run_layout_defaults},
};

int refuse_word(const Invocation& invocation, std::string_view word) {
  std::vector<std::string_view> names;
  for (const auto& one : invocation.command.words) names.push_back(one.name);
  if (word.empty()) return refuse(invocation, "say what to do: " + either(names));
  return refuse(invocation, fmt::format("unknown command \"{}\"{}", word.substr(0, 80),
                                        suggestion(word, names, "write " + either(names))));
}

// The first word that stands among the arguments, whose flags are then known.
const Word* word_in(const Invocation& invocation) {
  for (const auto one : invocation.arguments) {
    if (const auto* word = find_word(invocation.command, one)) return word;
  }
  return nullptr;
}

// In any case of letters.
bool begins_with(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && edit_distance(text.substr(0, start.size()), start) == 0;
}

// "did you mean a100-40gb or a100-80gb? ", or nothing.
std::string model_question(std::string_view name) {
  std::vector<std::string_view> keys;
  std::vector<std::string_view> longer;
  for (const auto& model : gpu::mig_models()) {
    keys.push_back(model.key);
    if (!name.empty() && begins_with(model.key, name)) longer.push_back(model.key);
  }
  if (const auto near = nearest(name, keys); longer.empty() && near) longer.push_back(*near);
  return longer.empty() ? "" : fmt::format("did you mean {}? ", either(longer));
}

// A model without MIG that the name says: "NVIDIA L20", "l20", "v100".
const gpu::Model* model_without_mig(std::string_view name) {
  for (const std::string_view maker : {"NVIDIA ", "Tesla "}) {
    if (begins_with(name, maker)) name.remove_prefix(maker.size());
  }
  for (const auto& model : gpu::known_models()) {
    if (name.empty() || model.mig_capable || !begins_with(model.name, name)) continue;
    const auto rest = model.name.substr(name.size());
    if (rest.empty() || rest.front() == '-' || rest.front() == ' ') return &model;
  }
  return nullptr;
}

}  // namespace

int refuse(const LayoutCall& call, std::string_view what) {
  return refuse(call.invocation, what, &call.word);
}

int end(const LayoutCall& call, const Error& error) {
  fmt::print(stderr, "{} {}: {}\n", call.invocation.program, call.word.name, error.message());
  switch (error.code) {
    case Code::kInvalidArgument:
      return kExitUsage;
    case Code::kUnavailable:
    case Code::kTimeout:
      return kExitUnreachable;
    default:
      return kExitFinding;
  }
}

Result<const gpu::MigModel*> mig_model(std::string_view name) {
  if (const auto* model = gpu::find_mig_model(name)) return model;
  if (const auto* model = model_without_mig(name)) {
    return fail(Code::kUnsupported, fmt::format("{} has no MIG", model->name),
                "share it by time-slicing (docs/configuration.md), MPS (docs/mps.md) or limits "
                "(docs/limits.md)");
  }
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is no model that is known", name.substr(0, 80)),
              fmt::format("{}'tranche layout list' lists them", model_question(name)));
}

int run_layout_command(const Invocation& invocation) {
  const auto* word = word_in(invocation);
  const auto uses = uses_of(invocation.command, word);
  const auto parsed = config::parse_words(invocation.arguments, uses);
  if (!parsed) return refuse(invocation, parsed.error().message(), word);
  if (parsed->help) {
    fmt::print("{}", help_of(invocation.command, word, invocation.program));
    return kExitFine;
  }
  if (parsed->version) {
    fmt::print("{}\n", version_line());
    return kExitFine;
  }
  const auto& words = parsed->positionals;
  if (word == nullptr || words.empty() || words[0] != word->name) {
    return refuse_word(invocation, words.empty() ? "" : words[0]);
  }
  const LayoutCall call{.invocation = invocation,
                        .word = *word,
                        .arguments = {words.begin() + 1, words.end()},
                        .sources = {.flags = parsed->flags, .environment = invocation.environment}};
  for (const auto& one : kLayoutRuns) {
    if (one.name == word->name) return one.run(call);
  }
  return refuse_word(invocation, word->name);
}

}  // namespace tranche::cli
