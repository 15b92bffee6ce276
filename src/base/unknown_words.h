#pragma once
// Names the words of a command line that a program does not know, with the nearest ones that it
// does. Pure.

#include <span>
#include <string>

namespace tranche {

// A line for each of `words`: `unknown command "strom"; did you mean "storm"?`. A word that begins
// with "-" is a flag, and its value after "=" is left out. `known`: commands and flags, with
// dashes.
std::string unknown_words(std::span<const std::string> words, std::span<const std::string> known);

}  // namespace tranche
