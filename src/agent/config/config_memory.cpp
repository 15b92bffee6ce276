#include "agent/config/config_memory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksum.h"

namespace tranche::agent {
namespace {

using nlohmann::json;

constexpr std::string_view kVersion = "config-choice/v1";
constexpr std::size_t kLargest = std::size_t{4} << 20U;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json optional_text(const std::optional<std::string>& text) {
  return text ? json(*text) : json(nullptr);
}

std::optional<std::string> optional_text(const json& value) {
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
  const json value = json::parse(*text);
  const auto& choice = value.at("choice");
  if (value.at("version") != kVersion) return refuse(file_, "not config-choice/v1");
  if (value.at("checksum") != fmt::format("{:016x}", checksum(text_of(choice)))) {
    return refuse(file_, "its checksum does not match its content");
  }
  return ConfigChoice{.origin = choice.at("origin").get<std::string>(),
                      .text = optional_text(choice.at("text")),
                      .name = choice.at("name").get<std::string>(),
                      .mig_strategy = optional_text(choice.at("migStrategy"))};
} catch (const json::exception& error) {
  return refuse(file_, fmt::format("torn or not config-choice/v1: {}", error.what()));
}

Result<void> ConfigMemory::store(const ConfigChoice& choice) const {
  const json body = {{"origin", choice.origin},
                     {"text", optional_text(choice.text)},
                     {"name", choice.name},
                     {"migStrategy", optional_text(choice.mig_strategy)}};
  const json file = {{"version", kVersion},
                     {"checksum", fmt::format("{:016x}", checksum(text_of(body)))},
                     {"choice", body}};
  return fs_.write_atomic(file_, text_of(file) + "\n", 0600);
}

}  // namespace tranche::agent
