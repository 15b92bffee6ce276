#pragma once
// Reports the command-line words that a program does not know, each with the nearest known one.
// Pure.

#include <span>
#include <string>
#include <vector>

namespace tranche {

// A line for each of `words`: `unknown command "strom"; did you mean "storm"?`. A word that begins
// with "-" is a flag, and its value after "=" is left out. `known`: commands and flags, with
// dashes.
std::string unknown_words(std::span<const std::string> words, std::span<const std::string> known);

// The same for the words that a CLI::App did not consume, including those of its subcommand. A
// template, so that this room needs no CLI11.
template <class App>
std::string unknown_words_of(const App& app) {
  const App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::vector<std::string> known;
  for (const auto* option : command->get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const auto* sub : command->get_subcommands([](const App*) { return true; })) {
    known.push_back(sub->get_name());
  }
  return unknown_words(app.remaining(true), known);
}

}  // namespace tranche
