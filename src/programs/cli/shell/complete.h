#pragma once
// Completes a command line for programs that ask: kubectl runs kubectl_complete-tranche (this
// binary under another name) to complete `kubectl tranche`. The scripts of `tranche completion` do
// not need to ask. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/command.h"

namespace tranche::cli {

// One completion.
struct Candidate {
  std::string text;
  std::string_view what;  // its description, or ""
  bool operator==(const Candidate&) const = default;
};

// What the shell does with the candidates; the numbers are those of cobra, kubectl's library
// (ShellCompDirective).
enum class Directive { kFiles = 0, kNoFiles = 4, kFolders = 16 };

struct Completions {
  std::vector<Candidate> candidates;
  Directive directive = Directive::kNoFiles;
  bool operator==(const Completions&) const = default;
};

// `words`: the words after the program's name; the last one is being typed, and may be empty.
Completions complete(std::span<const Command> commands, std::span<const std::string_view> words);

// In kubectl's format: a candidate in each line, a tab before its description, and ":4" as the last
// line.
std::string to_text(const Completions& completions);

}  // namespace tranche::cli
