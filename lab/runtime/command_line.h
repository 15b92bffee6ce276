#pragma once
// What of runc's command line concerns us. Pure.

#include <span>
#include <string>
#include <string_view>

namespace tranche::lab {

struct RuntimeCall {
  std::string command;       // "create", "start", ...; empty: none
  std::string bundle = ".";  // folder of config.json
  std::string log;           // for runc's errors, read by its caller; may be empty
  bool makes_container() const { return command == "create" || command == "run"; }
};

RuntimeCall read_command_line(std::span<const std::string_view> arguments);

}  // namespace tranche::lab
