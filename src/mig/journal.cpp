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

namespace tranche::mig {
namespace {

constexpr EnvelopeKind kJournal{.version = "journal/v1", .key = "journal"};
constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostInstances = 16;  // of a GPU; of compute instances in one, too
constexpr std::int64_t kMostSlices = 64;
constexpr std::int64_t kMostProfile = 1023;
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

json::Value to_json(const Instance& instance) {
  return {{"profile", instance.profile_id},
          {"start", instance.placement.start},
          {"size", instance.placement.size},
          {"compute", json::Value(instance.compute)}};
}

json::Value to_json(const GpuLayout& layout) {
  json::Value instances = json::Value::array();
  for (const auto& instance : layout.instances) instances.push_back(to_json(instance));
  return {{"enabled", layout.enabled}, {"instances", std::move(instances)}};
}

json::Value to_json(const Layout& layout) {
  json::Value gpus = json::Value::object();
  for (const auto& [gpu, one] : layout) gpus[gpu.value] = to_json(one);
  return gpus;
}

// Printable ASCII without white space.
bool is_word(std::string_view text, std::size_t longest) {
  return text.size() <= longest &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::string word(const json::Fields& fields, std::string_view key, std::size_t longest,
                 bool may_be_empty = false) {
  auto text = fields.need<std::string>(key);
  if (!is_word(text, longest) || (text.empty() && !may_be_empty)) {
    fields.refuse(key, "cannot be one");
  }
  return text;
}

std::vector<int> read_compute(const json::Fields& fields) {
  fields.require({"compute"});
  const auto list = fields.view().find("compute").value_or(json::View());
  std::vector<int> compute;
  for (const auto& one : list.elements()) {
    const auto slices = one.as_int();
    if (!slices || *slices < 1 || *slices > kMostSlices || compute.size() == kMostInstances) {
      fields.refuse("compute", "are no slices of compute instances");
      return {};
    }
    compute.push_back(static_cast<int>(*slices));
  }
  if (list.kind() != json::Kind::kArray) fields.refuse("compute", "is no list");
  return compute;
}

Instance read_instance(const json::Fields& fields) {
  return {.profile_id = static_cast<int>(fields.need_number("profile", 0, kMostProfile)),
          .placement = {.start = static_cast<int>(fields.need_number("start", 0, kMostSlices)),
                        .size = static_cast<int>(fields.need_number("size", 1, kMostSlices))},
          .compute = read_compute(fields)};
}

GpuLayout read_gpu(const json::Fields& fields) {
  GpuLayout layout{.enabled = fields.need<bool>("enabled"), .instances = {}};
  const auto instances = fields.need_list("instances");
  if (instances.size() > kMostInstances) fields.refuse("instances", "are too many");
  if (!layout.enabled && !instances.empty()) {
    fields.refuse("instances", "are there without MIG mode");
  }
  for (const auto& one : instances) {
    layout.instances.push_back(read_instance(one));
    if (layout.instances.size() == kMostInstances) break;
  }
  return layout;
}

Layout read_layout(const json::Fields& journal, std::string_view key, std::optional<Error>& error) {
  const auto gpus = journal.need_object(key);
  const auto members = gpus.view().members();
  if (members.size() > kMostGpus) {
    journal.refuse(key, "has too many GPUs");
    return {};
  }
  Layout layout;
  for (const auto& [gpu, value, begin, end] : members) {
    if (gpu.empty() || !is_word(gpu, kLongestWord)) journal.refuse(key, "has a GPU without a UUID");
    const json::Fields fields(value, gpus.path_of(gpu), error);
    if (value.kind() != json::Kind::kObject) fields.refuse(fields.path_of("") + " is no object");
    layout.insert_or_assign(gpu::GpuUuid{gpu}, read_gpu(fields));
  }
  return layout;
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
                  .boot = word(fields, "boot", kLongestWord, true),
                  .trouble = fields.need<std::string>("trouble")};
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
