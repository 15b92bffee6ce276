#pragma once
// The hooks of a GPU container: calls of NVIDIA's hook program, which the runtime makes while
// creating the container. The program is part of NVIDIA's container toolkit on the host.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cdi/spec.h"

namespace tranche::cdi {

class HookMaker {
 public:
  // `program`: its path on the host. A program named `nvidia-ctk` has the hooks under its
  // subcommand `hook`. `disabled`: names of hooks to leave out (--cdi-disable-hooks), or "all".
  HookMaker(std::string program, std::set<std::string> disabled);

  // nullopt: the hook is disabled.
  std::optional<Hook> make(std::string_view name, const std::vector<std::string>& args = {}) const;

 private:
  std::string program_;
  std::set<std::string> disabled_;
};

}  // namespace tranche::cdi
