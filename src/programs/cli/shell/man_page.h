#pragma once
// Manual pages, section 1, made from the command table and the flag tables: tranche(1), and one for
// each command, such as tranche-agent(1). `tranche reference --man` writes those in docs/man, and a
// test compares them. Pure.

#include <span>
#include <string>

#include "cli/shell/command.h"

namespace tranche::cli {

// tranche(1).
std::string man_overview(std::span<const Command> commands);
// The page of one of `commands`.
std::string man_page(const Command& command, std::span<const Command> commands);

}  // namespace tranche::cli
