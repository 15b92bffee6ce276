#include "cluster/formats/mig_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/json_value.h"
#include "base/printable.h"
#include "cluster/checks.h"
#include "cluster/fields.h"

namespace tranche::cluster {
namespace {

constexpr std::string_view kChangeVersion = "mig-change/v1";
constexpr std::string_view kDrainVersion = "mig-drain/v1";
// Resources of one node; an A100 has 6 profiles, and sharing renames some.
constexpr std::size_t kMostResources = 128;
constexpr std::array kPhases = {MigPhase::kAsking, MigPhase::kDraining, MigPhase::kChanging,
                                MigPhase::kFinished};

// ---- writing

json::Value mig_pod(const ObjectKey& pod) { return {{"namespace", pod.ns}, {"name", pod.name}}; }

json::Value mig_texts(const std::vector<std::string>& texts) {
  json::Value list = json::Value::array();
  for (const auto& text : texts) {
    if (list.size() == MigDrain::kMost) break;
    list.push_back(printable(text, MigDrain::kLongestItem));
  }
  return list;
}

std::string change_text(const MigChange& change, std::size_t pods) {
  json::Value list = json::Value::array();
  for (std::size_t i = 0; i < pods; ++i) {
    auto pod = mig_pod(change.pods[i]);
    const auto why = change.why.find(change.pods[i]);
    if (why != change.why.end()) pod["why"] = printable(why->second, MigChange::kLongestWhy);
    list.push_back(std::move(pod));
  }
  return json::Value({{"version", kChangeVersion},
                      {"id", change.id},
                      {"layout", change.layout},
                      {"phase", to_string(change.phase)},
                      {"writtenAt", micro_time(change.written_at)},
                      {"deadline", micro_time(change.deadline)},
                      {"failed", change.failed},
                      {"before", change.before},
                      {"after", change.after},
                      {"pods", std::move(list)},
                      {"waitsFor", printable(change.waits_for, MigChange::kLongestWait)},
                      {"journal", change.journal}})
      .text();
}

// ---- reading

std::string mig_checked(const Fields& fields, std::string_view key,
                        bool (*is_one)(std::string_view)) {
  auto text = fields.text(key);
  if (!is_one(text)) fields.refuse(key, "is missing, or cannot be one");
  return text;
}

WallTime mig_time(const Fields& fields, std::string_view key) {
  const auto time = parse_time(fields.text(key));
  if (!time) fields.refuse(key, time.error().what);
  return time.value_or(WallTime());
}

MigPhase phase_of(const Fields& fields) {
  const auto text = fields.text("phase");
  for (const auto phase : kPhases) {
    if (text == to_string(phase)) return phase;
  }
  fields.refuse("phase", "is none that this release knows");
  return MigPhase::kAsking;
}

std::map<std::string, std::int64_t> amounts_of(const Fields& parent, std::string_view key) {
  std::map<std::string, std::int64_t> amounts;
  const auto fields = parent.object(key);
  for (const auto& [name, value, begin, end] : fields.view().members()) {
    const auto amount = value.as_int();
    if (!is_resource(name) || !amount || *amount < 0 || amounts.size() == kMostResources) {
      parent.refuse(key, "holds what is no resource with a number, or too many");
      break;
    }
    amounts[name] = *amount;
  }
  return amounts;
}

ObjectKey read_mig_pod(const Fields& fields) {
  return {.ns = mig_checked(fields, "namespace", is_name),
          .name = mig_checked(fields, "name", is_name)};
}

// Texts for people.
bool is_reason(std::string_view text) {
  return text.size() <= MigDrain::kLongestReason && printable(text) == text;
}
bool is_wait(std::string_view text) {
  return text.size() <= MigChange::kLongestWait && printable(text) == text;
}
bool is_item(std::string_view text) {
  return text.size() <= MigDrain::kLongestItem && printable(text) == text;
}

std::vector<std::string> texts_of(const Fields& fields, std::string_view key) {
  auto texts = fields.maybe<std::vector<std::string>>(key).value_or(std::vector<std::string>());
  if (texts.size() > MigDrain::kMost || !std::ranges::all_of(texts, is_item)) {
    fields.refuse(key, "is too long, or holds what is not printable");
  }
  return texts;
}

MigChange change_of(const Fields& fields) {
  MigChange change{.id = mig_checked(fields, "id", is_id),
                   .layout = mig_checked(fields, "layout", is_label_value),
                   .phase = phase_of(fields),
                   .written_at = mig_time(fields, "writtenAt"),
                   .deadline = mig_time(fields, "deadline"),
                   .failed = fields.boolean("failed"),
                   .before = amounts_of(fields, "before"),
                   .after = amounts_of(fields, "after"),
                   .pods = {},
                   .why = {},
                   .waits_for = mig_checked(fields, "waitsFor", is_wait),
                   .journal = fields.text("journal")};
  const auto pods = fields.list("pods");
  if (pods.size() > MigChange::kMostPods) fields.refuse("pods", "are too many");
  for (const auto& pod : pods) {
    change.pods.push_back(read_mig_pod(pod));
    const auto why = pod.maybe<std::string>("why").value_or("");
    if (!is_item(why)) pod.refuse("why", "is too long, or holds what is not printable");
    if (!why.empty()) change.why[change.pods.back()] = why;
  }
  return change;
}

MigDrain::Answer answer_of(const Fields& fields) {
  const auto text = fields.text("answer");
  if (text == to_string(MigDrain::Answer::kRefused)) return MigDrain::Answer::kRefused;
  if (text != to_string(MigDrain::Answer::kAccepted)) {
    fields.refuse("answer", "is none that this release knows");
  }
  return MigDrain::Answer::kAccepted;
}

WallTime since_of(const Fields& fields) {
  const auto text = fields.maybe<std::string>("since");
  return text && !text->empty() ? mig_time(fields, "since") : WallTime();
}

MigDrain drain_of(const Fields& fields) {
  MigDrain drain{.id = mig_checked(fields, "id", is_id),
                 .written_at = mig_time(fields, "writtenAt"),
                 .answer = answer_of(fields),
                 .reason = mig_checked(fields, "reason", is_reason),
                 .outages = texts_of(fields, "outages"),
                 .pending = texts_of(fields, "pending"),
                 .cordoned = fields.boolean("cordoned"),
                 .uncordoned = fields.boolean("uncordoned"),
                 .blocked = {}};
  const auto blocked = fields.list("blocked");
  if (blocked.size() > MigDrain::kMost) fields.refuse("blocked", "are too many");
  for (const auto& one : blocked) {
    drain.blocked.push_back({read_mig_pod(one), mig_checked(one, "why", is_item), since_of(one)});
  }
  return drain;
}

template <class Read>
auto decode_mig(std::string_view text, std::size_t longest, std::string_view version,
                const Read& read) -> Result<decltype(read(std::declval<Fields>()))> {
  if (text.size() > longest) {
    return fail(Code::kInvalidArgument, fmt::format("{} bytes are too many", text.size()));
  }
  ASSIGN_OR_RETURN(const auto root, json::parse_strict(text));
  std::optional<Error> error;
  const Fields fields(root, "", error);
  if (root.kind() != json::Kind::kObject || fields.text("version") != version) {
    return fail(Code::kInvalidArgument, fmt::format("not {}", version));
  }
  auto value = read(fields);
  if (error) return std::unexpected(*std::move(error));
  return value;
}

}  // namespace

std::string_view to_string(MigPhase phase) {
  switch (phase) {
    case MigPhase::kAsking:
      return "asking";
    case MigPhase::kDraining:
      return "draining";
    case MigPhase::kChanging:
      return "changing";
    case MigPhase::kFinished:
      break;
  }
  return "finished";
}

std::string_view to_string(MigDrain::Answer answer) {
  return answer == MigDrain::Answer::kRefused ? "refused" : "accepted";
}

std::string encode(const MigChange& change) {
  auto pods = std::min(change.pods.size(), MigChange::kMostPods);
  auto text = change_text(change, pods);
  while (text.size() > MigChange::kLongest && pods > 0) text = change_text(change, pods /= 2);
  return text;
}

std::string encode(const MigDrain& drain) {
  json::Value blocked = json::Value::array();
  for (const auto& one : drain.blocked) {
    if (blocked.size() == MigDrain::kMost) break;
    auto item = mig_pod(one.pod);
    item["why"] = printable(one.why, MigDrain::kLongestItem);
    if (one.since != WallTime()) item["since"] = micro_time(one.since);
    blocked.push_back(std::move(item));
  }
  return json::Value({{"version", kDrainVersion},
                      {"id", drain.id},
                      {"writtenAt", micro_time(drain.written_at)},
                      {"answer", to_string(drain.answer)},
                      {"reason", printable(drain.reason, MigDrain::kLongestReason)},
                      {"outages", mig_texts(drain.outages)},
                      {"pending", mig_texts(drain.pending)},
                      {"cordoned", drain.cordoned},
                      {"uncordoned", drain.uncordoned},
                      {"blocked", std::move(blocked)}})
      .text();
}

Result<MigChange> decode_mig_change(std::string_view text) {
  return decode_mig(text, MigChange::kLongest, kChangeVersion, change_of);
}

Result<MigDrain> decode_mig_drain(std::string_view text) {
  return decode_mig(text, MigDrain::kLongest, kDrainVersion, drain_of);
}

}  // namespace tranche::cluster
