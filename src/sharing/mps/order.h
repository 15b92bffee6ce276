#pragma once
// One call of NVIDIA's nvidia-cuda-mps-control, and how our messages show the call and its output.
// Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::mps {

inline constexpr std::string_view kControlProgram = "nvidia-cuda-mps-control";

// Arguments, or a line for the program's shell.
struct Order {
  std::vector<std::string> arguments;
  std::string input;
  bool operator==(const Order&) const = default;
};

// The call as a person would type it.
std::string shown(const Order& order);

// The program's output for a message: one line, of limited length.
std::string words(std::string text);

// Parses a whole number, 0 or more; nullopt: `text` is something else.
std::optional<int> count_in(std::string_view text);

}  // namespace tranche::mps
