#include "agent/mig/mig_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/sync_folder.h"
#include "mig/layout_json.h"

namespace tranche::agent {
namespace {

constexpr const char* kJournal = "journal.json";
constexpr const char* kApplied = "applied.json";
constexpr EnvelopeKind kOutcome{.version = "mig-applied/v1", .key = "outcome"};

constexpr std::array kEnds = {
    std::pair{MigEnd::kUntouched, std::string_view("untouched")},
    std::pair{MigEnd::kUndone, std::string_view("undone")},
    std::pair{MigEnd::kChanged, std::string_view("changed")},
    std::pair{MigEnd::kBetween, std::string_view("between")},
    std::pair{MigEnd::kUnread, std::string_view("unread")},
    std::pair{MigEnd::kWaits, std::string_view("waits")},
};

std::string_view word_of(MigEnd end) {
  return std::ranges::find(kEnds, end, &std::pair<MigEnd, std::string_view>::first)->second;
}

MigEnd read_end(const json::Fields& fields) {
  const auto text = fields.need_or("end", std::string("untouched"));
  const auto found = std::ranges::find(kEnds, text, &std::pair<MigEnd, std::string_view>::second);
  if (found != kEnds.end()) return found->first;
  fields.refuse("end", "is none that this release knows");
  return MigEnd::kUntouched;
}

MigOutcome read_outcome(const json::Fields& fields, std::optional<Error>& error) {
  MigOutcome outcome{.label = fields.need<std::string>("label"),
                     .wish = fields.need<std::string>("wish"),
                     .trouble = fields.need<std::string>("trouble"),
                     .boot = fields.need<std::string>("boot"),
                     .told = fields.need<bool>("told"),
                     .accepted = fields.need<bool>("accepted"),
                     .end = read_end(fields)};
  // Earlier releases kept none.
  if (fields.has("kept")) outcome.kept.layout = mig::read_layout(fields, "kept", error);
  outcome.kept.boot = fields.need_or("keptBoot", std::string());
  return outcome;
}

}  // namespace

std::string encode(const MigOutcome& outcome) {
  const json::Value content = {
      {"label", outcome.label},       {"wish", outcome.wish},
      {"trouble", outcome.trouble},   {"boot", outcome.boot},
      {"told", outcome.told},         {"accepted", outcome.accepted},
      {"end", word_of(outcome.end)},  {"kept", mig::to_json(outcome.kept.layout)},
      {"keptBoot", outcome.kept.boot}};
  return seal(kOutcome, content.text(json::Value::Order::kSorted));
}

Result<MigOutcome> decode_outcome(std::string_view text) {
  ASSIGN_OR_RETURN(const auto content, unseal(kOutcome, text));
  std::optional<Error> error;
  auto outcome = read_outcome(json::Fields(content, "", error), error);
  if (error) return std::unexpected(*std::move(error));
  return outcome;
}

Result<std::optional<std::string>> MigFiles::read(const char* name) const {
  auto text = fs_.read(dir_ / name);
  if (text) return *std::move(text);
  if (text.error().code == Code::kNotFound) return std::nullopt;
  return std::unexpected(std::move(text).error());
}

Result<void> MigFiles::write(const char* name, const std::string& text) const {
  TRY(fs_.make_directories(dir_));
  return fs_.write_atomic(dir_ / name, text, 0600, FsRoot::Sync::kNow);
}

Result<std::optional<mig::Journal>> MigFiles::journal() const {
  ASSIGN_OR_RETURN(const auto text, read(kJournal));
  if (!text) return std::nullopt;
  ASSIGN_OR_RETURN(auto journal, mig::decode_journal(*text));
  return journal;
}

Result<void> MigFiles::store(const mig::Journal& journal) const {
  return write(kJournal, mig::encode(journal));
}

Result<void> MigFiles::drop_journal() const {
  if (!fs_.exists(dir_ / kJournal)) return {};
  TRY(fs_.remove(dir_ / kJournal));
  return sync_folder(dir_);
}

Result<std::optional<MigOutcome>> MigFiles::outcome() const {
  ASSIGN_OR_RETURN(const auto text, read(kApplied));
  if (!text) return std::nullopt;
  ASSIGN_OR_RETURN(auto outcome, decode_outcome(*text));
  return outcome;
}

Result<void> MigFiles::store(const MigOutcome& outcome) const {
  return write(kApplied, encode(outcome));
}

Result<void> MigFiles::drop_outcome() const {
  if (!fs_.exists(dir_ / kApplied)) return {};
  TRY(fs_.remove(dir_ / kApplied));
  return sync_folder(dir_);
}

}  // namespace tranche::agent
