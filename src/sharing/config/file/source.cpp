#include "config/file/source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "config/choose.h"

namespace tranche::config {
namespace {

namespace stdfs = std::filesystem;

// The kind of file behind every link. Errors: a missing file, a loop of links, no permission.
Result<stdfs::file_type> type_of(const FsRoot& fs, const stdfs::path& path) {
  const auto real = fs.resolve(path);
  std::error_code error;
  const auto status = stdfs::status(real, error);
  if (!error) return status.type();
  auto failure = errno_error(error.value(), "configuration " + real.string());
  failure.hint = "check --config-file and what is mounted there";
  if (error == std::errc::too_many_symbolic_link_levels) {
    failure.hint = "its symbolic links go in a circle; " + failure.hint;
  }
  return std::unexpected(std::move(failure));
}

// The file of the folder to read. A name that is given is never replaced by another.
Result<std::string> pick(const stdfs::path& folder, std::string_view name,
                         const std::vector<std::string>& names) {
  const auto there = names.empty() ? std::string("it has no files")
                                   : fmt::format("it has {}", fmt::join(names, ", "));
  if (name.empty()) {
    auto choice = choose({}, names);
    if (choice) return *choice->name;
    return fail(Code::kNotFound,
                fmt::format("configuration folder {}: which of its files?", folder.string()),
                fmt::format("name one with --config-name, or have one called default; {}", there));
  }
  if (std::ranges::find(names, name) != names.end()) return std::string(name);
  return fail(Code::kNotFound,
              fmt::format("configuration folder {}: specified config {} does not exist",
                          folder.string(), name),
              there);
}

}  // namespace

Result<std::vector<std::string>> config_names(const FsRoot& fs, const stdfs::path& path) {
  ASSIGN_OR_RETURN(auto names, fs.list(path));
  std::erase_if(names, [&](const std::string& name) {
    return name.starts_with("..") || fs.is_directory(path / name);
  });
  return names;
}

Result<ConfigPath> find_config(const FsRoot& fs, const stdfs::path& path, std::string_view name) {
  ASSIGN_OR_RETURN(const auto type, type_of(fs, path));
  if (type == stdfs::file_type::directory) {
    ASSIGN_OR_RETURN(const auto names, config_names(fs, path));
    ASSIGN_OR_RETURN(auto key, pick(fs.resolve(path), name, names));
    return ConfigPath{path / key, key};
  }
  if (!name.empty()) {
    return fail(Code::kInvalidArgument,
                fmt::format("--config-name={}, but configuration {} is no folder", name,
                            fs.resolve(path).string()),
                "leave out --config-name, or give a folder as --config-file");
  }
  return ConfigPath{path, ""};
}

Result<FileReading> observe_config(const FsRoot& fs, const ConfigPath& found) {
  ASSIGN_OR_RETURN(const auto type, type_of(fs, found.path));
  // Reading a pipe could wait for ever. /dev/null is allowed: config-manager links to it for
  // "empty".
  if (type != stdfs::file_type::regular && type != stdfs::file_type::character) {
    return fail(Code::kInvalidArgument,
                fmt::format("configuration {} is no file", fs.resolve(found.path).string()),
                "name a file, or a folder of files");
  }
  auto reading = fs.observe(found.path, kMaxConfigBytes);
  if (reading) return reading;
  auto error = std::move(reading).error().with_context("configuration");
  if (error.hint.empty()) error.hint = "a configuration is a file of at most 1 MiB";
  return std::unexpected(std::move(error));
}

Result<ConfigText> read_config(const FsRoot& fs, const stdfs::path& path, std::string_view name) {
  ASSIGN_OR_RETURN(auto found, find_config(fs, path, name));
  ASSIGN_OR_RETURN(auto reading, observe_config(fs, found));
  return ConfigText{std::move(reading.text), fs.resolve(found.path).string(), std::move(found.key)};
}

std::vector<stdfs::path> config_watch_paths(const FsRoot& fs, const stdfs::path& path,
                                            std::string_view name) {
  std::vector<stdfs::path> paths{fs.resolve(path)};
  if (!fs.is_directory(path)) return paths;
  const auto names = config_names(fs, path);
  const auto key =
      names ? pick(path, name, *names) : Result<std::string>(fail(Code::kNotFound, ""));
  if (key) paths.push_back(fs.resolve(path / *key));
  return paths;
}

}  // namespace tranche::config
