#pragma once
// Runs another program to its end, for a bounded time: its own signal mask and process group, only
// the three standard descriptors, and exactly the environment it is given.

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::host {

struct Child {
  std::filesystem::path program;  // absolute
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> environment = {};
  std::string input = {};  // its standard input, at most 64 KiB
  std::chrono::milliseconds limit = std::chrono::seconds(10);
};

struct ChildEnd {
  int code = 0;        // exit code; 128 + the signal that ended it
  std::string output;  // standard output and error together, the first 64 KiB
};

// Waits for the program itself, not for what it leaves in the background (which may hold its
// output open). kNotFound: there is no such program. kTimeout: it did not end in time and was
// killed, with its process group.
Result<ChildEnd> run_child(const Child& child);

// The first program of this name in the folders of `path` ("/usr/bin:/bin") or, below the driver's
// root, where drivers install programs. kNotFound, with the places.
Result<std::filesystem::path> find_program(const std::string& name, std::string_view path,
                                           const std::filesystem::path& driver_root);

}  // namespace tranche::host
