#include "config/file/settled_reader.h"

#include <fmt/format.h>

#include "base/yaml.h"

namespace tranche::config {
namespace {

// Time since the last change. A change in the future is an old one: the clock was set back.
std::chrono::nanoseconds age(const FileIdentity& identity, const Clock& clock) {
  const auto changed =
      std::chrono::seconds(identity.changed_s) + std::chrono::nanoseconds(identity.changed_ns);
  const auto age = clock.wall_now().time_since_epoch() - changed;
  return age.count() < 0 ? std::chrono::nanoseconds::max() : age;
}

}  // namespace

Result<ConfigText> SettledReader::read(const FsRoot& fs, const std::filesystem::path& path,
                                       std::string_view name, const Clock& clock) {
  rewriting_ = false;
  ASSIGN_OR_RETURN(auto found, find_config(fs, path, name));
  ASSIGN_OR_RETURN(auto reading, observe_config(fs, found));
  TRY(check(reading, fs.resolve(found.path).string(), clock));
  last_ = std::move(reading);
  return ConfigText{last_->text, fs.resolve(found.path).string(), std::move(found.key)};
}

Result<void> SettledReader::check(const FileReading& reading, const std::string& name,
                                  const Clock& clock) {
  if (!reading.regular) return {};
  const auto quiet = age(reading.identity, clock);
  const bool in_place = last_ && last_->identity.same_inode(reading.identity);
  if (in_place && last_->text == reading.text && !reading.being_written.value_or(false)) return {};
  const bool written = reading.being_written.value_or(false) && quiet < kForgotten;
  // If writers cannot be detected, a new file may also be being written.
  const bool doubtful = in_place || (!last_ && !reading.being_written);
  if (written || (doubtful && quiet < kQuiet)) {
    rewriting_ = true;
    return fail(Code::kUnavailable, fmt::format("{} is being written", name),
                "it is read again when nobody has changed it for a second");
  }
  if (in_place && yaml::says_nothing(reading.text) && !yaml::says_nothing(last_->text)) {
    return fail(Code::kInvalidArgument, fmt::format("{}: the file was emptied", name),
                "write 'version: v1' to share nothing; what is commented out does not count");
  }
  return {};
}

}  // namespace tranche::config
