#include "mig/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/utf8.h"
#include "mig/empty.h"
#include "mig/layout_json.h"

namespace tranche::mig {
namespace {

constexpr EnvelopeKind kJournal{.version = "journal/v1", .key = "journal"};
constexpr std::size_t kLongestWord = 128;  // of an id, a UUID, a boot id
constexpr std::size_t kLongestName = 253;  // of a layout
constexpr std::size_t kLongestTrouble = 2000;

using Phase = Journal::Phase;
constexpr std::array kPhases = {
    std::pair{Phase::kAsking, std::string_view("asking")},
    std::pair{Phase::kDraining, std::string_view("draining")},
    std::pair{Phase::kChanging, std::string_view("changing")},
    std::pair{Phase::kVerifying, std::string_view("verifying")},
    std::pair{Phase::kUndoing, std::string_view("undoing")},
    std::pair{Phase::kFinished, std::string_view("finished")},
};

std::string word(const json::Fields& fields, std::string_view key, std::size_t longest,
                 Empty empty = Empty::kRefused) {
  auto text = fields.need<std::string>(key);
  if (!is_layout_word(text, longest) || (text.empty() && empty == Empty::kRefused)) {
    fields.refuse(key, "cannot be one");
  }
  return text;
}

cluster::WallTime read_time(const json::Fields& fields, std::string_view key) {
  const auto time = cluster::parse_time(fields.need<std::string>(key));
  if (!time) fields.refuse(key, "is no time");
  return time.value_or(cluster::WallTime());
}

Phase read_phase(const json::Fields& fields) {
  const auto text = fields.need<std::string>("phase");
  const auto found = std::ranges::find(kPhases, text, [](const auto& one) { return one.second; });
  if (found != kPhases.end()) return found->first;
  fields.refuse("phase", "is none that this release knows");
  return Phase::kAsking;
}

bool same_gpus(const Layout& a, const Layout& b) {
  return std::ranges::equal(a, b, {}, &Layout::value_type::first, &Layout::value_type::first);
}

Journal read_journal(const json::Fields& fields, std::optional<Error>& error) {
  Journal journal{.id = word(fields, "id", kLongestWord),
                  .layout = word(fields, "layout", kLongestName),
                  .phase = read_phase(fields),
                  .from = read_layout(fields, "from", error),
                  .to = read_layout(fields, "to", error),
                  .started = read_time(fields, "started"),
                  .deadline = read_time(fields, "deadline"),
                  .boot = word(fields, "boot", kLongestWord, Empty::kAllowed),
                  .touched = false,
                  .trouble = fields.need<std::string>("trouble")};
  // Earlier releases did not write it.
  journal.touched = fields.need_or("touched", journal.phase > Phase::kDraining);
  if (journal.trouble.size() > kLongestTrouble) fields.refuse("trouble", "is too long");
  if (!same_gpus(journal.from, journal.to)) fields.refuse("to", "has other GPUs than \"from\"");
  return journal;
}

}  // namespace

std::string_view to_string(Journal::Phase phase) {
  const auto found = std::ranges::find(kPhases, phase, [](const auto& one) { return one.first; });
  return found == kPhases.end() ? "asking" : found->second;
}

std::string encode(const Journal& journal) {
  const json::Value content = {{"id", journal.id},
                               {"layout", journal.layout},
                               {"phase", to_string(journal.phase)},
                               {"from", to_json(journal.from)},
                               {"to", to_json(journal.to)},
                               {"started", cluster::micro_time(journal.started)},
                               {"deadline", cluster::micro_time(journal.deadline)},
                               {"boot", journal.boot},
                               {"touched", journal.touched},
                               {"trouble", utf8_prefix(journal.trouble, kLongestTrouble)}};
  return seal(kJournal, content.text(json::Value::Order::kSorted));
}

Result<Journal> decode_journal(std::string_view text) {
  if (text.size() > kLongestJournal) {
    return fail(Code::kInvalidArgument, fmt::format("{} bytes are too many", text.size()));
  }
  ASSIGN_OR_RETURN(const auto content, unseal(kJournal, text));
  std::optional<Error> error;
  auto journal = read_journal(json::Fields(content, "", error), error);
  if (error) return std::unexpected(*std::move(error));
  return journal;
}

}  // namespace tranche::mig
