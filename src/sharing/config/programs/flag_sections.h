#pragma once
// How docs/reference/flags.md arranges the flag table: a flag of one program is in that program's
// table, a flag of several in a table before them, so that each is listed once. Pure.

#include <string>
#include <vector>

#include "config/flags/flag_table.h"

namespace tranche::config {

// One list of the page. The words of a command ("limit set", "limit get") share one.
struct FlagSection {
  std::string title;
  std::string of;     // the sentence below the title
  unsigned uses = 0;  // the programs whose own flags these are (FlagUse); 0: flags of several
  std::vector<const FlagSpec*> flags = {};
};

// The sections that have flags, in the order of the page; their flags in the order of the help.
std::vector<FlagSection> flag_sections();

// Which programs, or which words of the section's command, take the flag. Empty where the section
// is of one program.
std::string users(const FlagSpec& spec, const FlagSection& section);

// GitHub's anchor for the section's heading.
std::string anchor_of(const FlagSection& section);

}  // namespace tranche::config
