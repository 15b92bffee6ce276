#include "limit/start_message.h"

#include <algorithm>
#include <limits>

#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/printable.h"
#include "fmt/format.h"

namespace tranche::limit {
namespace {

constexpr std::string_view kStartVersion = "limit-start/v1";
constexpr std::size_t kLongestId = 64;
constexpr std::size_t kLongestReason = 1024;

std::unexpected<Error> refuse_start(std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("not limit-start/v1: {}", why));
}

// Applies `read` to a packet that is an object of our version.
template <class T>
Result<T> decode(std::string_view text, T (*read)(const json::Fields&)) {
  if (text.size() > kLargestStartPacket) return refuse_start("too long");
  const auto packet = json::parse_strict(text);
  if (!packet) return refuse_start(packet.error().what);
  const auto version = packet->find("version");
  if (!version || version->as_string() != kStartVersion) return refuse_start("another version");
  auto message = json::read_fields(*packet, read);
  if (!message) return refuse_start(message.error().what);
  return message;
}

StartNotice read_notice(const json::Fields& packet) {
  constexpr auto kLastPid = std::numeric_limits<pid_t>::max();
  StartNotice notice{.pid = static_cast<pid_t>(packet.need_number("pid", 1, kLastPid)),
                     .tenants = packet.need<std::vector<std::string>>("tenants"),
                     .preload = printable(packet.need<std::string>("preload"), kLongestPreload),
                     .waits = packet.need<bool>("waits")};
  if (notice.tenants.empty() || notice.tenants.size() > kMostTenants ||
      !std::ranges::all_of(notice.tenants, is_tenant_id)) {
    packet.refuse("tenants", "are none, too many or no ids");
  }
  return notice;
}

StartAnswer read_answer(const json::Fields& packet) {
  return {.may_start = packet.need<bool>("mayStart"),
          .reason = printable(packet.need<std::string>("reason"), kLongestReason)};
}

}  // namespace

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

Result<StartNotice> decode_start_notice(std::string_view text) { return decode(text, read_notice); }

Result<StartAnswer> decode_start_answer(std::string_view text) { return decode(text, read_answer); }

}  // namespace tranche::limit
