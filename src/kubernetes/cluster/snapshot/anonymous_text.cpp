#include "cluster/snapshot/anonymous_text.h"

#include <algorithm>
#include <array>
#include <regex>

namespace tranche::cluster {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Of what names are made. A byte that is not ASCII is part of a name, too.
bool is_of_token(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("._-/:@=%+~*#").contains(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

bool is_plain(std::string_view token) { return std::ranges::all_of(token, is_letter); }

bool matches(std::string_view text, const std::regex& form) {
  constexpr std::size_t kLongest = 80;  // no name of hardware is longer
  return text.size() <= kLongest && std::regex_match(text.begin(), text.end(), form);
}

bool is_pci(std::string_view text) {
  static const std::regex kForm(
      "([0-9a-fA-F]{4}|[0-9a-fA-F]{8}):[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]|"
      "pci[0-9a-f]{4}:[0-9a-f]{2}");
  return matches(text, kForm);
}

bool is_time(std::string_view text) {
  static const std::regex kForm(
      "[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}(:[0-9]{2}){2}(\\.[0-9]+)?Z?)?");
  return matches(text, kForm);
}

// Words that this system and Kubernetes write with something else than letters.
constexpr std::array kOurWords = {"all-balanced",
                                  "best-effort",
                                  "cdi-annotations",
                                  "cdi-cri",
                                  "volume-mounts",
                                  "claim-share",
                                  "device-plugin",
                                  "e.g",
                                  "http",
                                  "https",
                                  "i.e",
                                  "in-use",
                                  "last-applied",
                                  "latency-critical",
                                  "mig-parted",
                                  "mps-client",
                                  "out-of-memory",
                                  "pod-resources",
                                  "re-registered",
                                  "time-sliced",
                                  "time-slicing",
                                  "v1",
                                  "v1alpha1",
                                  "v1beta1",
                                  "v1beta2"};

// "nvidia.com/gpu", "gpu.nvidia.com"; not a path below it, which may name anything.
bool is_public_name(std::string_view token) {
  if (token.find_first_of("=:@~*#+%") != std::string_view::npos) return false;
  const auto slash = token.find('/');
  const auto domain = token.substr(0, slash);
  if (domain.find('.') == std::string_view::npos || !is_public_domain(domain)) return false;
  return slash == std::string_view::npos || token.find('/', slash + 1) == std::string_view::npos;
}

// Words of CEL, other than names of attributes and capacities.
constexpr std::array<std::string_view, 16> kOfExpressions = {
    "device",    "attributes",    "capacity",   "driver",    "allowMultipleAllocations",
    "compareTo", "isGreaterThan", "isLessThan", "asInteger", "quantity",
    "semver",    "startsWith",    "endsWith",   "contains",  "exists",
    "matches"};

class Rewriter {
 public:
  explicit Rewriter(Aliases& aliases) : aliases_(aliases) {}

  std::string text(std::string_view text);

 private:
  std::string token(std::string_view token, bool quoted);
  std::string part(std::string_view part, bool may_be_word);
  std::string parts(std::string_view text, const char* separators);
  bool is_expression(std::string_view token) const;
  bool stays(std::string_view token) const;

  Aliases& aliases_;
};

std::string Rewriter::text(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_of_token(text[at])) {
      result += text[at++];
      continue;
    }
    const auto end =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_of_token);
    const auto length = static_cast<std::size_t>(end - text.begin()) - at;
    const bool quoted = at > 0 && is_quote(text[at - 1]);
    result += token(text.substr(at, length), quoted);
    at += length;
  }
  return result;
}

// The end of a sentence is no part of a name.
std::string Rewriter::token(std::string_view token, bool quoted) {
  const auto last = token.find_last_not_of(".:=-/");
  if (last == std::string_view::npos) return std::string(token);
  const auto body = token.substr(0, last + 1);
  return (is_expression(body) ? std::string(body) : part(body, !quoted)) +
         std::string(token.substr(last + 1));
}

// "team/train", "GPU-...::3", "key=value", an address with its port: as a whole, else its parts,
// which are names then. Two levels deep, however many parts there are.
std::string Rewriter::part(std::string_view part, bool may_be_word) {
  std::string name(part);
  if (const auto* alias = aliases_.find(name)) return *alias;
  if (stays(part) || (may_be_word && is_plain(part))) return name;
  for (const char* separators : {"=", "/:@"}) {
    if (part.find_first_of(separators) != std::string_view::npos) return parts(part, separators);
  }
  return aliases_.alias_of(kind_of_id(part, NameKind::kSomeWord), name);
}

std::string Rewriter::parts(std::string_view text, const char* separators) {
  std::string result;
  while (true) {
    const auto end = text.find_first_of(separators);
    if (end != 0) result += part(text.substr(0, end), false);
    if (end == std::string_view::npos) return result;
    result += text[end];
    text.remove_prefix(end + 1);
    if (text.empty()) return result;
  }
}

// "device.attributes", and after a bracket ".memory.compareTo".
bool Rewriter::is_expression(std::string_view token) const {
  if (!token.starts_with("device.") && !token.starts_with('.')) return false;
  while (!token.empty()) {
    const auto end = std::min(token.find('.'), token.size());
    const auto word = token.substr(0, end);
    const bool known = word.empty() || aliases_.is_word(word) ||
                       std::ranges::find(kOfExpressions, word) != kOfExpressions.end();
    if (!known) return false;
    token.remove_prefix(std::min(end + 1, token.size()));
  }
  return true;
}

bool Rewriter::stays(std::string_view token) const {
  return is_number(token) || is_mig_name(token) || is_pci(token) || is_time(token) ||
         is_device_of_ours(token) || is_public_name(token) || aliases_.is_word(token) ||
         std::ranges::find(kOurWords, token) != kOurWords.end();
}

}  // namespace

std::string anonymous_text(std::string_view text, Aliases& aliases) {
  return Rewriter(aliases).text(text);
}

bool is_public_domain(std::string_view domain) {
  static constexpr std::array<std::string_view, 12> kDomains = {
      "kubernetes.io", "k8s.io",       "k8s-sigs.io", "x-k8s.io",
      "nvidia.com",    "tranche.dev",  "google.com",  "amazonaws.com",
      "azure.com",     "openshift.io", "oracle.com",  "karpenter.sh"};
  return std::ranges::any_of(kDomains, [&](std::string_view known) {
    if (!domain.ends_with(known)) return false;
    return domain.size() == known.size() || domain[domain.size() - known.size() - 1] == '.';
  });
}

bool is_device_of_ours(std::string_view name) {
  static const std::regex kForm(
      "gpu-[0-9]{1,4}(-mig-([0-9]c\\.?)?[0-9]g[0-9.]{1,4}gb[a-z.-]{0,8}-(gi)?[0-9]{1,3}-(ci)?[0-9]{"
      "1,3})?"
      "(-counter-set)?");
  return matches(name, kForm);
}

bool is_field_name(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return is_letter(c) || c == '-'; });
}

bool is_number(std::string_view text) {
  // With a unit; durations; versions. Four numbers are an address.
  static const std::regex kForm(
      "[+-]?[0-9]{1,15}([.][0-9]{1,6}){0,2}[a-zA-Z%]{0,3}|([0-9]+[hms]){1,3}|0x[0-9a-fA-F]{1,8}");
  return matches(text, kForm);
}

bool is_mig_name(std::string_view text) {
  static const std::regex kForm(
      "(all-|mig-|nvidia\\.com/mig-)?([0-9]c\\.)?[0-9]g\\.[0-9]{1,3}gb([+.][a-z.]{2,8})*|"
      "all-(balanced|enabled|disabled)");
  return matches(text, kForm);
}

}  // namespace tranche::cluster
