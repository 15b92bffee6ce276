#pragma once
// The reference pages of docs/reference/, generated from the tables that the code uses. A test
// compares the committed pages; `tranche reference docs/reference` regenerates them.

#include <string>

namespace tranche::config {

std::string reference_flags();        // flags.md
std::string reference_environment();  // environment.md
std::string reference_config_file();  // config-file.md

}  // namespace tranche::config
