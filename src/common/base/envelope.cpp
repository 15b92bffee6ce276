#include "base/envelope.h"

#include <fmt/format.h>

#include "base/canonical_json.h"
#include "base/checksum.h"
#include "base/printable.h"

namespace tranche {
namespace {

std::string sum_of(std::string_view content) { return fmt::format("{:016x}", checksum(content)); }

std::unexpected<Error> refuse_envelope(std::string why) {
  return fail(Code::kInvalidArgument, std::move(why));
}

}  // namespace

std::string seal(const EnvelopeKind& kind, std::string_view content, std::string_view written_at) {
  auto text = fmt::format(R"({{"checksum":"{}","{}":{},"version":"{}")", sum_of(content), kind.key,
                          content, kind.version);
  if (!written_at.empty()) text += fmt::format(R"(,"writtenAt":"{}")", written_at);
  return text + '}';
}

Result<json::View> unseal(const EnvelopeKind& kind, std::string_view text) {
  const auto torn = [&](std::string_view why) {
    return refuse_envelope(fmt::format("torn or not {}: {}", kind.version, why));
  };
  const auto root = json::parse(text);
  if (!root) return torn(root.error().what);
  const auto version = root->find("version").value_or(json::View()).as_string();
  if (!version) return torn("it has no version");
  if (*version != kind.version) {
    return refuse_envelope(fmt::format("version \"{}\" where this release reads {}",
                                       printable(*version, 80), kind.version));
  }
  const auto content = root->find(kind.key);
  if (!content || content->kind() != json::Kind::kObject) {
    return torn(fmt::format("it has no object `{}`", kind.key));
  }
  const auto stored = root->find("checksum").value_or(json::View()).as_string();
  if (!stored) return torn("it has no checksum");
  const auto canonical = json::canonical_text(*content);
  if (!canonical) return refuse_envelope("it holds a number or a text that no program can hold");
  if (*stored != sum_of(*canonical)) {
    return refuse_envelope("its checksum does not match its content");
  }
  return *content;
}

}  // namespace tranche
