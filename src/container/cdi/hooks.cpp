#include "cdi/hooks.h"

#include <filesystem>
#include <utility>

namespace tranche::cdi {

HookMaker::HookMaker(std::string program, std::set<std::string> disabled)
    : program_(std::move(program)), disabled_(std::move(disabled)) {}

std::optional<Hook> HookMaker::make(std::string_view name,
                                    const std::vector<std::string>& args) const {
  if (disabled_.contains("all") || disabled_.contains(std::string(name))) return std::nullopt;
  const auto base = std::filesystem::path(program_).filename().string();
  Hook hook{.hook_name = "createContainer",
            .path = program_,
            .args = {base},
            .env = {"NVIDIA_CTK_DEBUG=false"}};
  if (base == "nvidia-ctk") hook.args.emplace_back("hook");
  hook.args.emplace_back(name);
  hook.args.insert(hook.args.end(), args.begin(), args.end());
  return hook;
}

}  // namespace tranche::cdi
