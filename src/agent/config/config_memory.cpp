#include "agent/config/config_memory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/envelope.h"
#include "base/json_value.h"

namespace tranche::agent {
namespace {

using Json = nlohmann::json;

constexpr EnvelopeKind kChoice{.version = "config-choice/v1", .key = "choice"};
constexpr std::size_t kLargest = std::size_t{4} << 20U;

json::Value optional_text(const std::optional<std::string>& text) {
  return text ? json::Value(*text) : json::Value();
}

std::optional<std::string> optional_text(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}

std::unexpected<Error> refuse(const std::filesystem::path& file, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", file.string(), why),
              "remove it; it is written anew when the API server answers");
}

}  // namespace

Result<std::optional<ConfigChoice>> ConfigMemory::load() const try {
  const auto text = fs_.read(file_, kLargest);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  const auto body = unseal(kChoice, *text);
  if (!body) return refuse(file_, body.error().what);
  const Json choice = Json::parse(body->text());
  return ConfigChoice{.origin = choice.at("origin").get<std::string>(),
                      .text = optional_text(choice.at("text")),
                      .name = choice.at("name").get<std::string>(),
                      .mig_strategy = optional_text(choice.at("migStrategy"))};
} catch (const Json::exception& error) {
  return refuse(file_, fmt::format("torn or not {}: {}", kChoice.version, error.what()));
}

Result<void> ConfigMemory::store(const ConfigChoice& choice) const {
  const json::Value body = {{"origin", choice.origin},
                            {"text", optional_text(choice.text)},
                            {"name", choice.name},
                            {"migStrategy", optional_text(choice.mig_strategy)}};
  return fs_.write_atomic(file_, seal(kChoice, body.text(json::Value::Order::kSorted)) + "\n",
                          0600);
}

}  // namespace tranche::agent
