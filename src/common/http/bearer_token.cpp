#include "http/bearer_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/letter_case.h"
#include "http/regular_file.h"

namespace tranche::http {
namespace {

constexpr std::string_view kScheme = "Bearer";

// Empty: the header has another form.
std::string_view shown(std::string_view authorization) {
  const auto scheme = authorization.substr(0, kScheme.size());
  const auto rest = authorization.substr(scheme.size());
  if (!same_without_case(scheme, kScheme) || !rest.starts_with(' ')) return {};
  const auto begin = rest.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view{} : rest.substr(begin);
}

// Looks at each byte of `given`, whatever it finds.
bool is_same(std::string_view given, std::string_view token) {
  if (token.empty()) return false;
  volatile unsigned difference = given.size() == token.size() ? 0U : 1U;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto a = static_cast<unsigned char>(given[i]);
    const auto b = static_cast<unsigned char>(token[i % token.size()]);
    difference = difference | static_cast<unsigned>(a ^ b);
  }
  return difference == 0;
}

// Without its line end.
Result<std::string> token_of(std::string text, const std::string& file) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  const auto no_token = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("{} {}", file, why),
                "write the token into it, on one line");
  };
  if (text.empty()) return no_token("is empty");
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; })) {
    return no_token("has a character that no token has");
  }
  return text;
}

}  // namespace

Result<void> BearerToken::check(std::string_view authorization) {
  auto token = read();
  if (!token) return refuse(std::move(token).error());
  const bool is_right = is_same(shown(authorization), *token);
  {
    const std::scoped_lock lock(mutex_);
    said_.clear();
    last_ = *std::move(token);
  }
  if (is_right) return {};
  return fail(Code::kPermission, "no token, or another one");
}

Result<void> BearerToken::refuse(Error reason) {
  const std::scoped_lock lock(mutex_);
  last_.clear();
  if (std::exchange(said_, reason.message()) == reason.message()) {
    return fail(Code::kPermission, "there is no token to compare with");
  }
  reason.code = Code::kFailedPrecondition;
  return std::unexpected(std::move(reason));
}

Result<std::string> BearerToken::read() {
  ASSIGN_OR_RETURN(auto reading, read_regular(root_, file_, kMaxBytes));
  const auto shown_path = root_.resolve(file_).string();
  if (!reading.being_written.value_or(false)) return token_of(std::move(reading.text), shown_path);
  const std::scoped_lock lock(mutex_);
  if (!last_.empty()) return last_;
  return fail(Code::kUnavailable, shown_path + " is being written");
}

}  // namespace tranche::http
