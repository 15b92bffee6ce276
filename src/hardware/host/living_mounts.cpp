#include "host/living_mounts.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::host {
namespace {

bool is_number(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<void> each_living_mount(const FsRoot& fs, const std::function<void(const Mount&)>& take) {
  ASSIGN_OR_RETURN(const auto names, fs.list("/proc"));
  if (std::ranges::none_of(names, is_number)) {
    return fail(Code::kUnavailable,
                fmt::format("{} shows no process", fs.resolve("/proc").string()));
  }
  for (const auto& name : names) {
    if (!is_number(name)) continue;
    const auto read = each_mount(fs, name, take);
    if (!read && read.error().code != Code::kNotFound) return read;
  }
  return {};
}

}  // namespace tranche::host
