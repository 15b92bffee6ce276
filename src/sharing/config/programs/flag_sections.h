#pragma once
// How docs/reference/flags.md arranges the flag table: a flag of one program stands in the table of
// that program, a flag of several in a table before them, so that each stands once. Pure.

#include <string>
#include <vector>

#include "config/flags/flag_table.h"

namespace tranche::config {

// One table of the page. The words of a command ("limit set", "limit get") share one.
struct FlagSection {
  std::string title;
  std::string of;     // the sentence below the title
  unsigned uses = 0;  // the programs whose own flags these are (FlagUse); 0: flags of several
  std::vector<const FlagSpec*> flags = {};
};

// Those that have flags, in the order of the page; the flags in the order of the help.
std::vector<FlagSection> flag_sections();

// What the column "of" says: which programs, or which words of the section's command, take the
// flag. Empty where the section is of one program.
std::string users(const FlagSpec& spec, const FlagSection& section);

// The name that GitHub gives the section's heading.
std::string anchor_of(const FlagSection& section);

}  // namespace tranche::config
