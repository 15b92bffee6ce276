#pragma once
// Manual pages, section 1, made from the command table and the flag tables: tranche(1), and a page
// for each command, such as tranche-agent(1). The committed pages are in docs/man. `tranche
// reference --man` writes them, and a test compares. Pure.

#include <span>
#include <string>

#include "cli/shell/command.h"

namespace tranche::cli {

// tranche(1).
std::string man_overview(std::span<const Command> commands);
// The page of one of `commands`.
std::string man_page(const Command& command, std::span<const Command> commands);

}  // namespace tranche::cli
