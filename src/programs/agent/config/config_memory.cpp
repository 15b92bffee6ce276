#include "agent/config/config_memory.h"

#include <fmt/format.h>

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kPolicysStrategy = "ClusterPolicy spec.mig.strategy";

constexpr EnvelopeKind kChoice{.version = "config-choice/v1", .key = "choice"};
constexpr std::size_t kLargest = std::size_t{4} << 20U;

json::Value optional_text(const std::optional<std::string>& text) {
  return text ? json::Value(*text) : json::Value();
}

ConfigChoice read_choice(const json::Fields& fields) {
  fields.require({"text", "migStrategy"});
  return {.origin = fields.need<std::string>("origin"),
          .text = fields.maybe_text("text"),
          .name = fields.need<std::string>("name"),
          .mig_strategy = fields.maybe_text("migStrategy")};
}

std::unexpected<Error> refuse(const std::filesystem::path& file, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", file.string(), why),
              "remove it; it is written anew when the API server answers");
}

}  // namespace

Result<config::Loaded> load_choice(const ConfigChoice& choice, config::Sources sources) {
  // The policy's strategy has the rank of the variable, and nobody set one.
  static constexpr std::string_view kVariable = "environment MIG_STRATEGY";
  sources.file_text = choice.text;
  sources.file_name = choice.name;
  if (choice.mig_strategy) sources.environment["MIG_STRATEGY"] = *choice.mig_strategy;
  auto loaded = config::load(sources);
  if (loaded || !choice.mig_strategy) return loaded;
  auto error = std::move(loaded).error();
  for (std::size_t at = 0; (at = error.what.find(kVariable, at)) != std::string::npos;) {
    error.what.replace(at, kVariable.size(), kPolicysStrategy);
  }
  return std::unexpected(std::move(error));
}

Result<std::optional<ConfigChoice>> ConfigMemory::load() const {
  const auto text = fs_.read(file_, kLargest);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  const auto body = unseal(kChoice, *text);
  if (!body) return refuse(file_, body.error().what);
  auto choice = json::read_fields(*body, read_choice);
  if (choice) return choice;
  return refuse(file_, fmt::format("torn or not {}: {}", kChoice.version, choice.error().what));
}

Result<void> ConfigMemory::store(const ConfigChoice& choice) const {
  const json::Value body = {{"origin", choice.origin},
                            {"text", optional_text(choice.text)},
                            {"name", choice.name},
                            {"migStrategy", optional_text(choice.mig_strategy)}};
  return fs_.write_atomic(file_, seal(kChoice, body.text(json::Value::Order::kSorted)) + "\n", 0600,
                          FsRoot::Sync::kNow);
}

}  // namespace tranche::agent
