#include "agent/mig/mig_files.h"

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/sync_folder.h"

namespace tranche::agent {
namespace {

constexpr const char* kJournal = "journal.json";
constexpr const char* kApplied = "applied.json";
constexpr EnvelopeKind kOutcome{.version = "mig-applied/v1", .key = "outcome"};

MigOutcome read_outcome(const json::Fields& fields) {
  return {.label = fields.need<std::string>("label"),
          .wish = fields.need<std::string>("wish"),
          .trouble = fields.need<std::string>("trouble"),
          .boot = fields.need<std::string>("boot"),
          .told = fields.need<bool>("told"),
          .accepted = fields.need<bool>("accepted")};
}

}  // namespace

std::string encode(const MigOutcome& outcome) {
  const json::Value content = {{"label", outcome.label},     {"wish", outcome.wish},
                               {"trouble", outcome.trouble}, {"boot", outcome.boot},
                               {"told", outcome.told},       {"accepted", outcome.accepted}};
  return seal(kOutcome, content.text(json::Value::Order::kSorted));
}

Result<MigOutcome> decode_outcome(std::string_view text) {
  ASSIGN_OR_RETURN(const auto content, unseal(kOutcome, text));
  return json::read_fields(content, read_outcome);
}

Result<std::optional<std::string>> MigFiles::read(const char* name) const {
  auto text = fs_.read(dir_ / name);
  if (text) return *std::move(text);
  if (text.error().code == Code::kNotFound) return std::nullopt;
  return std::unexpected(std::move(text).error());
}

Result<void> MigFiles::write(const char* name, const std::string& text) const {
  TRY(fs_.make_directories(dir_));
  return fs_.write_atomic(dir_ / name, text, 0600, true);
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
