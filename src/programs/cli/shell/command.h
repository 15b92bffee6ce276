#pragma once
// The commands of `tranche` and their table, from which help, shell completion and manual pages are
// made. A new command is a line in commands.cpp, and one in cli/runs.cpp.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::cli {

struct Command;

struct Invocation {
  const Command& command;
  std::string_view program;  // as in the usage: "tranche agent", "nvidia-device-plugin"
  std::span<const std::string_view> arguments;  // after the command's name
  std::map<std::string, std::string> environment;
};

// The heading of the help for a command.
enum class Group { kProcesses, kLook, kChange, kTools };

struct GroupTitle {
  Group group;
  std::string_view title;
};
// In the order of the help.
std::span<const GroupTitle> groups();

// A command line for the help, and its purpose. It may use the shell: "tranche completion bash >
// FILE".
struct Example {
  std::string_view what;
  std::string_view line;
};

// A possible first word after the command: "set" of `tranche limit set`.
struct Word {
  std::string_view name;
  std::string_view summary;
  unsigned uses = 0;                // its flags (config::FlagUse); 0: the command's
  std::string_view arguments = {};  // between the word and the flags: "POD"
};

struct Command {
  std::string_view name;
  std::string_view summary;
  Group group = Group::kTools;
  unsigned uses = 0;  // its flags (config::FlagUse); 0: none but --help
  std::span<const Word> words = {};
  std::string_view usage = {};  // between the name and the flags: "set|get POD"
  // Like one of NVIDIA's programs, it exits with 1 where others exit with 2.
  bool nvidias_exit_codes = false;
  bool takes_files = false;  // its arguments are paths, which shells complete
  bool listed = true;        // in `tranche help`, completion and manual pages
  bool is_part = false;      // one of parts()
};

// The meaning of an exit code (base/exit_code.h) in help, manual pages and reference.
struct ExitCodeText {
  std::string_view code;
  std::string_view meaning;
};
std::span<const ExitCodeText> exit_codes();

// In the order of the help, group by group.
std::span<const Command> commands();
// NVIDIA's programs that the binary replaces when called by their names, so that existing manifests
// need only another image.
std::span<const Command> parts();
// The command `name`; nullptr: none.
const Command* find_command(std::span<const Command> among, std::string_view name);
// The word `name`; nullptr: none.
const Word* find_word(const Command& command, std::string_view name);
// The flags of the command, or of its word.
unsigned uses_of(const Command& command, const Word* word);

// The examples of the command (`word`: nullptr) or of one of its words: two to four.
std::vector<Example> examples_of(const Command& command, const Word* word);
// False: a command without flags or words needs no page.
bool has_man_page(const Command& command);

// "0.1.0"
std::string_view version();
// "tranche 0.1.0"
std::string version_line();

}  // namespace tranche::cli
