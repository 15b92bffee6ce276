#pragma once
// The text of `tranche help`: the commands, group by group. Pure.

#include <span>
#include <string>

#include "cli/command.h"

namespace tranche::cli {

std::string command_help(std::span<const Command> commands);

}  // namespace tranche::cli
