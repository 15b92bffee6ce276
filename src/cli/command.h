#pragma once
// The commands of `tranche`, one file each, and which of them a program name stands for.

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tranche::cli {

struct Invocation {
  std::string_view program;  // as usage shows it: "tranche agent", "nvidia-device-plugin"
  std::span<const std::string_view> arguments;  // after the command's name
  std::map<std::string, std::string> environment;
};

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Invocation&);
  bool listed = true;  // in `tranche help`
};

// In the order of the help.
std::span<const Command> commands();

// Runs what argv asks for: by argv[0] when that is the name of one of NVIDIA's programs, else by
// the first argument. Returns the exit code: 2 for a usage error.
int dispatch(std::span<const std::string_view> argv,
             std::map<std::string, std::string> environment);

int run_agent_command(const Invocation& invocation);
int run_arbiter_command(const Invocation& invocation);
int run_cleanup_command(const Invocation& invocation);
int run_controller_command(const Invocation& invocation);
int run_labels_command(const Invocation& invocation);
int run_limit_command(const Invocation& invocation);
int run_config_manager_command(const Invocation& invocation);
int run_mps_control_command(const Invocation& invocation);
int run_reference_command(const Invocation& invocation);

// "tranche 0.1.0"
std::string version_line();

}  // namespace tranche::cli
