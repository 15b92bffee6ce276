#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/shell/command.h"
#include "config/flags/command_line.h"
#include "config/flags/flag_table.h"
#include "config/programs/agent_options.h"
#include "config/programs/arbiter_options.h"
#include "config/programs/controller_options.h"
#include "config/programs/doctor_options.h"
#include "config/programs/incident_options.h"
#include "config/programs/layout_file_options.h"
#include "config/programs/layout_options.h"
#include "config/programs/limit_options.h"
#include "config/programs/lint_options.h"
#include "config/programs/report_options.h"
#include "config/programs/snapshot_options.h"
#include "config/programs/top_options.h"

namespace tranche::cli::examples_test {
namespace {

using Verb = config::LimitOptions::Verb;

// The program's arguments, by a shell's rules as far as examples need them.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::istringstream stream{std::string(line)};
  for (std::string word; stream >> word && word != ">" && word != "|";) {
    if (word == "source") continue;
    if (word.starts_with("<(")) word = word.substr(2);
    if (word.ends_with(')')) word.pop_back();
    words.push_back(word);
  }
  return words;
}

template <class Options>
std::string error_of(const Result<Options>& options) {
  return options ? "" : options.error().message();
}

// What is wrong with the flags by the command that takes them; "": nothing.
std::string wrong_in(const config::Sources& sources, const Command& command, const Word* word,
                     const std::vector<std::string>& arguments) {
  switch (command.uses) {
    case config::kUseAgent:
      return error_of(config::load_agent_options(sources));
    case config::kUseArbiter:
      return error_of(config::load_arbiter_options(sources));
    case config::kUseMpsControl:
      return error_of(config::load_mps_control_options(sources));
    case config::kUseLabels:
    case config::kUseFeatureDiscovery:
      return error_of(config::load_feature_discovery_options(sources));
    case config::kUseConfigManager:
      return error_of(config::load_config_manager_options(sources));
    case config::kUseController:
      return error_of(config::load_controller_options(sources));
    case config::kUseCleanup:
      return error_of(config::load_cleanup_options(sources));
    case config::kUseSnapshot:
      return error_of(config::load_snapshot_options(sources));
    case config::kUseTop:
      return error_of(config::load_top_options(sources));
    case config::kUseReport:
      return error_of(config::load_report_options(sources));
    case config::kUseVersion:
      return error_of(config::load_output_form(sources, command.uses));
    case config::kUseLint:
      return error_of(config::load_lint_options(sources, arguments));
    case config::kUseDoctor:
      return error_of(config::load_doctor_options(sources));
    default:
      break;
  }
  if (command.name == "layout" && (word->uses & config::kUseLayoutMachine) != 0) {
    return error_of(config::load_layout_file_options(sources, word->uses));
  }
  if (command.name == "layout") {
    return error_of(config::load_layout_options(sources, word->uses, arguments));
  }
  if (command.name == "incident") {
    using Incidents = config::IncidentOptions::Verb;
    const auto incidents = word->name == "list" ? Incidents::kList : Incidents::kShow;
    return error_of(
        config::load_incident_options(sources, incidents, arguments.empty() ? "" : arguments[0]));
  }
  if (command.name != "limit") return command.uses == 0 ? "" : "nobody reads these flags";
  const std::pair<std::string_view, Verb> verbs[] = {{"set", Verb::kSet},
                                                     {"get", Verb::kGet},
                                                     {"reset", Verb::kReset},
                                                     {"list", Verb::kList},
                                                     {"prune", Verb::kPrune}};
  const auto* verb =
      std::ranges::find(verbs, word->name, [](const auto& one) { return one.first; });
  return error_of(
      config::load_limit_options(sources, verb->second, arguments.empty() ? "" : arguments[0]));
}

void expect_parses(const Command& command, const Example& example) {
  auto words = words_of(example.line);
  if (words.at(0) == "tranche") words.erase(words.begin());
  ASSERT_EQ(words.at(0), command.name) << example.line;
  const std::vector<std::string_view> arguments(words.begin() + 1, words.end());
  const auto parsed = config::parse_words(arguments, command.uses);
  ASSERT_TRUE(parsed) << example.line << ": " << parsed.error().message();
  const auto& left = parsed->positionals;
  const auto* word = left.empty() ? nullptr : find_word(command, left[0]);
  ASSERT_EQ(word == nullptr, left.empty() || command.takes_files) << example.line;
  const std::vector<std::string> more(left.begin() + (word == nullptr ? 0 : 1), left.end());
  const bool takes_more = word != nullptr && !word->arguments.empty();
  const bool takes_many = command.takes_files || (takes_more && word->arguments.ends_with("..."));
  const bool may_be_without = takes_more && word->arguments.starts_with('[') && more.empty();
  ASSERT_TRUE(takes_many || may_be_without || more.size() == (takes_more ? 1U : 0U))
      << example.line;
  EXPECT_EQ(wrong_in({.flags = parsed->flags}, command, word, more), "") << example.line;
}

void expect_examples(const Command& command, const Word* word) {
  const auto examples = examples_of(command, word);
  const std::string name = std::string(command.name) + (word ? " " + std::string(word->name) : "");
  EXPECT_GE(examples.size(), 2U) << name;
  EXPECT_LE(examples.size(), 4U) << name;
  for (const auto& example : examples) {
    EXPECT_FALSE(example.what.empty() || example.what.ends_with('.')) << example.line;
    expect_parses(command, example);
    if (word != nullptr) {
      EXPECT_NE(example.line.find(name), std::string_view::npos) << example.line;
    }
  }
}

TEST(Examples, EveryCommandAndWordHasSomeThatParse) {
  for (const auto& command : commands()) {
    if (!command.listed) continue;
    expect_examples(command, nullptr);
    for (const auto& word : command.words) expect_examples(command, &word);
  }
  for (const auto& part : parts()) expect_examples(part, nullptr);
}

}  // namespace
}  // namespace tranche::cli::examples_test
