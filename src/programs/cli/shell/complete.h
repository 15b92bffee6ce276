#pragma once
// What may follow on a command line, for programs that ask for it: kubectl, which runs
// kubectl_complete-tranche (this binary under another name) when `kubectl tranche` is completed.
// The scripts of `tranche completion` know the same without asking. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/command.h"

namespace tranche::cli {

// One line of the answer.
struct Candidate {
  std::string text;
  std::string_view what;  // "": nothing to say
  bool operator==(const Candidate&) const = default;
};

// What the shell does with the candidates. The numbers are those of cobra, kubectl's library
// (ShellCompDirective).
enum class Directive { kFiles = 0, kNoFiles = 4, kFolders = 16 };

struct Completions {
  std::vector<Candidate> candidates;
  Directive directive = Directive::kNoFiles;
  bool operator==(const Completions&) const = default;
};

// `words`: what stands after the program's name; the last one is being written, and may be empty.
Completions complete(std::span<const Command> commands, std::span<const std::string_view> words);

// As kubectl reads it: a candidate a line, a tab before what it is, and ":4" in the last line.
std::string to_text(const Completions& completions);

}  // namespace tranche::cli
