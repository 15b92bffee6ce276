#include "limit/start_message.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "fmt/format.h"

namespace tranche::limit {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kStartVersion = "limit-start/v1";
constexpr std::size_t kLongestId = 64;
constexpr std::size_t kLongestReason = 1024;

std::unexpected<Error> refuse_start(std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("not limit-start/v1: {}", why));
}

// `read` of a packet that is an object of our version.
template <class T, class Read>
Result<T> decode(std::string_view text, Read read) try {
  if (text.size() > kLargestStartPacket) return refuse_start("too long");
  const Json packet = Json::parse(text);
  if (packet.at("version") != kStartVersion) return refuse_start("another version");
  return read(packet);
} catch (const Json::exception& error) {
  return refuse_start(error.what());
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string result(text.substr(0, most));
  std::ranges::replace_if(result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

bool is_tenant_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string encode(const StartNotice& notice) {
  const json::Value packet = {{"version", kStartVersion},
                              {"pid", notice.pid},
                              {"tenants", notice.tenants},
                              {"preload", printable(notice.preload, kLongestPreload)},
                              {"waits", notice.waits}};
  return packet.text(json::Value::Order::kSorted);
}

std::string encode(const StartAnswer& answer) {
  const json::Value packet = {{"version", kStartVersion},
                              {"mayStart", answer.may_start},
                              {"reason", printable(answer.reason, kLongestReason)}};
  return packet.text(json::Value::Order::kSorted);
}

Result<StartNotice> decode_start_notice(std::string_view text) {
  return decode<StartNotice>(text, [](const Json& packet) -> Result<StartNotice> {
    const Json& told = packet.at("pid");
    const auto pid = told.is_number_integer() ? told.get<std::int64_t>() : 0;
    if (pid <= 0 || pid > std::numeric_limits<pid_t>::max()) return refuse_start("pid");
    StartNotice notice{.pid = static_cast<pid_t>(pid),
                       .tenants = packet.at("tenants").get<std::vector<std::string>>(),
                       .preload = packet.at("preload").get<std::string>(),
                       .waits = packet.at("waits").get<bool>()};
    if (notice.tenants.empty() || notice.tenants.size() > kMostTenants ||
        !std::ranges::all_of(notice.tenants, is_tenant_id)) {
      return refuse_start("tenants");
    }
    notice.preload = printable(notice.preload, kLongestPreload);
    return notice;
  });
}

Result<StartAnswer> decode_start_answer(std::string_view text) {
  return decode<StartAnswer>(text, [](const Json& packet) -> Result<StartAnswer> {
    return StartAnswer{.may_start = packet.at("mayStart").get<bool>(),
                       .reason = printable(packet.at("reason").get<std::string>(), kLongestReason)};
  });
}

}  // namespace tranche::limit
