#pragma once
// Runs another program to its end, within a time limit. The program gets an empty signal mask, its
// own process group, the three standard descriptors and no others, and exactly the environment that
// is named here.

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
  std::string output;  // standard output and error together
};

// Waits for the program itself, not for processes that it leaves in the background, even if they
// hold its output open. kNotFound: there is no such program. kTimeout: the program did not end in
// time and was killed with its process group. A program that hangs in a driver survives that; it is
// waited for another 2 s and no longer. kInvalidArgument: it wrote more than 64 KiB; it still ran
// to its end.
Result<ChildEnd> run_child(const Child& child);

// The first program of this name in the folders of `path` ("/usr/bin:/bin"), then in the
// folders below `driver_root` where drivers install programs. kNotFound, with the folders
// searched.
Result<std::filesystem::path> find_program(const std::string& name, std::string_view path,
                                           const std::filesystem::path& driver_root);

}  // namespace tranche::host
