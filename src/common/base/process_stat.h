#pragma once
// Parses /proc/<pid>/stat (proc_pid_stat(5)): a process's name, its parent, and its start time,
// which together with the pid identifies one process. It is in common/ because rooms that do not
// include each other need it. Pure.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche {

struct ProcessStat {
  std::string name;  // at most 15 bytes of any value; the process chooses it
  pid_t parent = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot
};

// nullopt: the text is truncated before the end of the start time, or is malformed.
std::optional<ProcessStat> parse_process_stat(std::string_view stat);

}  // namespace tranche
