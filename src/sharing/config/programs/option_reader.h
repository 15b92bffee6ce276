#pragma once
// Reads the flags of one program and collects their errors. For the *_options.cpp files of this
// folder. Borrows the sources.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/api_server.h"
#include "base/edit_distance.h"
#include "base/log.h"
#include "base/result.h"
#include "config/flags/flag_table.h"
#include "config/flags/given.h"
#include "config/flags/setting.h"
#include "config/flags/sources.h"
#include "config/flags/values.h"
#include "config/problems.h"

namespace tranche::config {

// `use`: which program, FlagUse.
class OptionReader {
 public:
  OptionReader(const Sources& sources, unsigned use) : sources_(sources), use_(use) {}

  // The value of a flag in the table, whose type must be T.
  template <class T>
  T get(std::string_view name) {
    return std::get<T>(setting(name).value);
  }
  bool is_set(std::string_view name) { return setting(name).place.from != Place::From::kDefault; }
  void error(std::string_view name, std::string_view what, std::string_view remedy) {
    problems_.error(where(setting(name).place, "", fmt::format("--{}", name)), what, remedy);
  }
  void error(const Error& error) { problems_.error(error); }

  // The value of a flag with choices. Any other text is an error, "'x' is `what`", and the default
  // is returned.
  std::string choice(std::string_view name, std::string_view what) {
    const auto& spec = *find_flag(name, use_);
    auto text = get<std::string>(name);
    if (text == spec.default_text || std::ranges::find(spec.choices, text) != spec.choices.end()) {
      return text;
    }
    error(name, fmt::format("'{}' is {}", text.substr(0, 40), what), remedy(spec, text));
    return std::string(spec.default_text);
  }

  // A required path.
  std::string absolute(std::string_view flag) {
    auto path = get<std::string>(flag);
    if (!path.starts_with('/')) not_absolute(flag, path);
    return path;
  }

  ApiServer api_server() {
    return {.kubeconfig = get<std::string>("kubeconfig"), .context = get<std::string>("context")};
  }

  // The file of --snapshot. KUBECONFIG may be set for other commands; a flag that names a cluster
  // may not stand there too.
  std::string snapshot() {
    auto file = get<std::string>("snapshot");
    if (!file.empty() && (is_flag("kubeconfig") || is_flag("context"))) {
      error("snapshot", "it stands beside a cluster", "leave out one of them");
    }
    return file;
  }
  // Whether the command line has the flag, whatever the environment says.
  bool is_flag(std::string_view name) const {
    return std::ranges::any_of(sources_.flags,
                               [&](const FlagValue& flag) { return flag.name == name; });
  }

  LogLevel log_level() {
    return parse_log_level(choice("log-level", "no log level")).value_or(LogLevel::kInfo);
  }

  template <class Options>
  Result<Options> result(Options options) {
    check_paths();
    if (problems_.any_errors()) return std::unexpected(problems_.as_error(Code::kInvalidArgument));
    return options;
  }

 private:
  // Programs started by others have no meaningful working folder, so a relative path would lead
  // anywhere, but for their own files (flags/working_folder.h made those absolute). Interactive
  // commands accept paths relative to the current folder.
  void check_paths() {
    constexpr unsigned kStartedByOthers = kUseAgent | kUseFeatureDiscovery | kUseConfigManager |
                                          kUseCleanup | kUseArbiter | kUseMpsControl;
    if ((use_ & kStartedByOthers) == 0) return;
    for (const auto& spec : flag_table()) {
      if ((spec.uses & use_) == 0 || spec.path == PathKind::kNone) continue;
      if (spec.name == "kubeconfig") continue;  // its variable may list several
      const auto path = get<std::string>(spec.name);
      if (path.empty() || path.starts_with('/') || path == spec.path_word) continue;
      not_absolute(spec.name, path);
    }
  }

  void not_absolute(std::string_view flag, std::string_view path) {
    if (std::ranges::find(reported_, flag) != reported_.end()) return;
    reported_.push_back(flag);
    error(flag, fmt::format("'{}' is no absolute path", path.substr(0, 80)), "write it from /");
  }

  // "did you mean "json"? write table, json or yaml"; the question only for a misspelling.
  static std::string remedy(const FlagSpec& spec, std::string_view text) {
    const auto near = nearest(text, spec.choices);
    return fmt::format("{}write {}", near ? fmt::format("did you mean \"{}\"? ", *near) : "",
                       either(spec.choices));
  }

  Setting setting(std::string_view name) {
    const auto& spec = *find_flag(name, use_);
    auto found = given(spec, sources_);
    if (found && *found) return **std::move(found);
    if (!found) unreadable(name, found.error());
    return {value_from_default(spec.type, spec.default_text), {}};
  }

  // A setting may be read twice; its error is reported only once.
  void unreadable(std::string_view name, const Error& error) {
    if (std::ranges::find(reported_, name) != reported_.end()) return;
    reported_.push_back(name);
    problems_.error(error);
  }

  const Sources& sources_;
  unsigned use_;
  Problems problems_{false};
  std::vector<std::string_view> reported_;
};

}  // namespace tranche::config
