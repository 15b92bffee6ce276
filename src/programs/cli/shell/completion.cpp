#include "cli/shell/completion.h"

namespace tranche::cli {

std::optional<std::string> completion_for(std::string_view shell,
                                          std::span<const Command> commands) {
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  return std::nullopt;
}

}  // namespace tranche::cli
