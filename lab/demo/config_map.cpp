#include "lab/demo/config_map.h"

#include <fmt/format.h>

#include <system_error>

#include "base/yaml.h"

namespace tranche::demo {
namespace {

namespace fs = std::filesystem;

Result<void> check(const std::error_code& error, std::string_view action) {
  if (!error) return {};
  return std::unexpected(errno_error(error.value(), action));
}

}  // namespace

Result<ConfigData> parse_config_map(std::string_view manifest, std::string_view name) {
  ASSIGN_OR_RETURN(const auto document, yaml::parse(manifest, name));
  const yaml::Node* data = document.root.find("data");
  if (data == nullptr || data->kind != yaml::Kind::kMap) {
    return fail(Code::kInvalidArgument, fmt::format("{}: data: not there, or no mapping", name));
  }
  ConfigData out;
  for (const auto& entry : data->entries) {
    if (entry.value.kind != yaml::Kind::kScalar) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: data.{}: {} where text belongs", name, entry.line, entry.key,
                              yaml::describe(entry.value.kind)));
    }
    out[entry.key] = entry.value.scalar;
  }
  return out;
}

Result<void> ConfigVolume::update(const ConfigData& data) {
  const std::string next = fmt::format("..revision_{}", ++revision_);
  TRY(fs_.make_directories(folder_ / next));
  for (const auto& [key, text] : data) TRY(fs_.write_atomic(folder_ / next / key, text));
  TRY(swap(next));
  TRY(link_keys(data));
  std::error_code error;
  if (!current_.empty()) fs::remove_all(folder_ / current_, error);
  current_ = next;
  return check(error, "remove the revision before");
}

Result<void> ConfigVolume::swap(const std::string& revision) {
  std::error_code error;
  const fs::path fresh = folder_ / "..data_tmp";
  fs::create_directory_symlink(revision, fresh, error);
  if (!error) fs::rename(fresh, folder_ / "..data", error);
  return check(error, "swap " + (folder_ / "..data").string());
}

Result<void> ConfigVolume::link_keys(const ConfigData& data) {
  std::error_code error;
  for (const auto& [key, text] : data) {
    if (fs::is_symlink(folder_ / key, error)) continue;
    fs::create_symlink(fs::path("..data") / key, folder_ / key, error);
    TRY(check(error, "link " + (folder_ / key).string()));
  }
  ASSIGN_OR_RETURN(const auto names, fs_.list(folder_));
  for (const auto& name : names) {
    if (!name.starts_with("..") && !data.contains(name)) TRY(fs_.remove(folder_ / name));
  }
  return {};
}

}  // namespace tranche::demo
