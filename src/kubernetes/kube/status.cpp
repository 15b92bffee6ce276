#include "kube/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/utf8.h"

namespace tranche::kube {
namespace {

// The fields of a metav1.Status that matter here.
struct Status {
  std::string message;
  std::string reason;
  bool names_object = false;  // details.name is set
  std::string budget;         // the message of a PodDisruptionBudget that blocks an eviction
};

// One line of at most 500 bytes.
std::string one_line(std::string_view text) {
  std::string line(utf8_prefix(text, 500));
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  line.erase(line.find_last_not_of(' ') + 1);
  return text.size() > 500 ? line + " ..." : line;
}

// details.causes of reason DisruptionBudget: "The disruption budget web needs 2 healthy pods and
// has 2 currently".
std::string budget_cause(const json::View& root) {
  const auto causes = root.at({"details", "causes"});
  if (!causes) return {};
  for (const auto& cause : causes->elements()) {
    const auto text = [&](std::string_view key) {
      const auto found = cause.find(key);
      return found ? found->as_string().value_or("") : std::string();
    };
    if (text("reason") == "DisruptionBudget") return one_line(text("message"));
  }
  return {};
}

Status parse_status(std::string_view body) {
  const auto root = json::parse(body);
  if (!root || root->kind() != json::Kind::kObject) return {one_line(body), "", false, ""};
  const auto text = [&](std::initializer_list<std::string_view> path) {
    const auto found = root->at(path);
    return found ? found->as_string().value_or("") : std::string();
  };
  auto message = text({"message"});
  if (message.empty()) message = body;
  return {one_line(message), text({"reason"}), !text({"details", "name"}).empty(),
          budget_cause(*root)};
}

std::string_view phrase(long status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Request Entity Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "";
  }
}

Code code_of(long status, const Status& said) {
  if (said.reason == "AlreadyExists") return Code::kAlreadyExists;
  switch (status) {
    case 401:
    case 403:
      return Code::kPermission;
    case 404:
      return Code::kNotFound;
    case 405:
    case 406:
    case 415:
      return Code::kUnsupported;
    case 409:
    case 410:
    case 412:
      return Code::kFailedPrecondition;
    case 408:
    case 504:
      return Code::kTimeout;
    default:
      return status == 429 || status >= 500 || status < 400 ? Code::kUnavailable
                                                            : Code::kInvalidArgument;
  }
}

// The text between the quotes that follow `before`.
std::optional<std::string> quoted_after(std::string_view text, std::string_view before) {
  const auto begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto rest = text.substr(begin + before.size());
  const auto end = rest.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(rest.substr(0, end));
}

// "system:serviceaccount:ns:name" -> "serviceaccount ns:name"
std::string subject_of(const std::string& user) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (user.starts_with(kPrefix)) return "serviceaccount " + user.substr(kPrefix.size());
  return fmt::format("user \"{}\"", user);
}

// The missing RBAC rule. Taken from the server's text, not from the request: an apply may lack
// `create`, and a patch of a subresource needs another rule than a patch of the object.
std::string missing_rule(const Request& request, const Status& said, std::string_view who) {
  const std::string_view text = said.message;
  const auto user = quoted_after(text, "User \"");
  const auto resource = quoted_after(text, "resource \"");
  const auto verb_at = text.find("\" cannot ");
  // Not from RBAC: an admission policy or a quota refused, and its text says what to do.
  if (!user || !resource || verb_at == std::string_view::npos) return {};
  auto verb = text.substr(verb_at + 9);
  verb = verb.substr(0, verb.find(' '));
  const auto group = quoted_after(text, "API group \"").value_or("");
  const auto ns = quoted_after(text, "in the namespace \"");
  auto rule = fmt::format("grant {} on {}", verb, *resource);
  if (!group.empty()) rule += fmt::format(" of {}", group);
  if (!request.key.name.empty() && verb != "create" && verb != "list" && verb != "watch") {
    rule += fmt::format(" (or on {} alone)", request.key.name);
  }
  rule += ns ? fmt::format(" in namespace {} to {}", *ns, subject_of(*user))
             : fmt::format(" in all the cluster to {}", subject_of(*user));
  return fmt::format("{} (credentials: {})", rule, who);
}

std::string hint_of(const Request& request, long status, const Status& said, std::string_view who) {
  switch (status) {
    case 401:
      return fmt::format(
          "the API server does not accept the credentials of {}: they are wrong, "
          "expired or revoked; renew them (a Pod's: delete the Pod, its successor gets new ones)",
          who);
    case 403:
      return missing_rule(request, said, who);
    case 404:
      if (said.names_object || request.verb == "create") return {};
      return fmt::format("install the definition of {} {}, or ask another API server",
                         request.kind.resource(), request.kind.version);
    case 409:
      if (said.reason == "AlreadyExists") return {};
      return request.content_type.find("apply") != std::string_view::npos
                 ? "someone else owns these fields: leave them, or apply with force"
                 : "read it again";
    case 410:
      return "list again";
    case 429:
    case 503:
      return "the API server is busy or starting; try again later";
    default:
      return {};
  }
}

// The error of an eviction blocked by a PodDisruptionBudget, with its name; nullopt: another error.
// The server names the budget only in its text, and answers 500 if a Pod has several.
std::optional<Error> blocked_by_budget(const Request& request, const Status& said) {
  if (request.subresource != "eviction") return std::nullopt;
  const auto hint = fmt::format("make room in it: kubectl get pdb -n {}", request.key.ns);
  if (said.message.find("more than one PodDisruptionBudget") != std::string::npos) {
    return Error{Code::kUnavailable,
                 "several PodDisruptionBudgets select it, and Kubernetes evicts no such Pod", hint};
  }
  constexpr std::string_view kPrefix = "The disruption budget ";
  if (!said.budget.starts_with(kPrefix)) return std::nullopt;
  const auto text = std::string_view(said.budget).substr(kPrefix.size());
  const auto end = std::min(text.find(' '), text.size());
  auto what = fmt::format("PodDisruptionBudget {}/{} allows no eviction now", request.key.ns,
                          text.substr(0, end));
  if (end < text.size()) what += fmt::format(": it {}", text.substr(end + 1));
  return Error{Code::kUnavailable, std::move(what), hint};
}

}  // namespace

Error refusal(const Request& request, long status, std::string_view body, std::string_view who) {
  const auto said = parse_status(body);
  if (auto blocked = blocked_by_budget(request, said)) return *std::move(blocked);
  const auto name = phrase(status);
  return {code_of(status, said),
          fmt::format("{}: {}{}{}: {}", request.describe(), status, name.empty() ? "" : " ", name,
                      said.message.empty() ? "no message" : said.message),
          hint_of(request, status, said, who)};
}

}  // namespace tranche::kube
