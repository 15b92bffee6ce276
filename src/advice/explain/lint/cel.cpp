#include "explain/lint/cel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ranges>

#include "explain/lint/cel_reference.h"
#include "explain/lint/cel_tokens.h"
#include "explain/lint/cel_value.h"
#include "explain/lint/place.h"

namespace tranche::lint {
namespace {

struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }) && !(text.front() >= '0' && text.front() <= '9');
}

// Whether the text needs no escapes between single quotes.
bool is_plain(std::string_view text) { return text.find_first_of("'\\\n") == std::string::npos; }

std::string reference_text(bool is_capacity, std::string_view domain, std::string_view name) {
  const auto head = fmt::format("device.{}['{}']", is_capacity ? "capacity" : "attributes", domain);
  return is_identifier(name) ? fmt::format("{}.{}", head, name)
                             : fmt::format("{}['{}']", head, name);
}

std::string kind_name(bool is_capacity) { return is_capacity ? "capacity" : "attribute"; }

class CelChecker {
 public:
  CelChecker(std::string_view expression, const Surroundings& around)
      : expression_(expression), around_(around), driver_(around.driver) {}

  CelCheck check(const std::vector<CelToken>& tokens) {
    find_driver(tokens);
    for (const auto& one : cel_references(tokens)) check(one);
    CelCheck result{.expression = std::string(expression_), .findings = std::move(findings_)};
    // From the end, so that earlier positions stay valid.
    for (const auto& edit : edits_ | std::views::reverse) {
      result.expression.replace(edit.begin, edit.end - edit.begin, edit.text);
    }
    return result;
  }

 private:
  // Finds `device.driver == 'x'` in the expression.
  void find_driver(const std::vector<CelToken>& tokens) {
    for (std::size_t i = 0; i + 4 < tokens.size(); ++i) {
      const bool is_driver = tokens[i].is_word("device") && tokens[i + 1].is(".") &&
                             tokens[i + 2].is_word("driver") && tokens[i + 3].is("==");
      if (!is_driver || tokens[i + 4].kind != CelToken::Kind::kText) continue;
      driver_ = tokens[i + 4].text;
      if (around_.names.has_driver(driver_)) continue;
      const auto near = did_you_mean(driver_, around_.names.drivers(), "");
      if (around_.names_are_the_clusters || !near.empty()) {
        say({.what = fmt::format("no {} has the driver '{}'",
                                 around_.names_are_the_clusters ? "ResourceSlice of the cluster"
                                                                : "driver known here",
                                 shown(driver_)),
             .fix = near.empty() ? known_drivers() : near,
             .certain = around_.names_are_the_clusters});
      }
    }
  }

  std::string known_drivers() const {
    const auto all = around_.names.drivers();
    if (all.empty()) return "install a driver that publishes ResourceSlices";
    return fmt::format("write one of: {}", fmt::join(all, ", "));
  }

  void say(CelFinding finding) { findings_.push_back(std::move(finding)); }

  void check(const CelReference& one) {
    if (one.second) {
      check_name(one, one.first, *one.second, "");
      return;
    }
    const auto slash = one.first.find('/');
    if (slash != std::string::npos) {
      check_name(one, one.first.substr(0, slash), one.first.substr(slash + 1),
                 "the domain stands in the brackets, and the name behind them");
    } else if (one.first.find('.') != std::string::npos) {
      check_domain(one.first);  // the whole domain: has(...), cel.bind(...), 'x' in ...
    } else {
      check_name(one, driver_, one.first,
                 fmt::format("the brackets hold a domain, and {} is none", shown(one.first)));
    }
  }

  bool check_domain(std::string_view domain) {
    if (around_.names.has_domain(domain)) return true;
    auto all = around_.names.domains();
    const auto near = std::ranges::find_if(all, [&](const std::string& one) {
      return one.ends_with(fmt::format(".{}", domain));  // nvidia.com
    });
    const auto fix = near != all.end() ? fmt::format("did you mean \"{}\"?", *near)
                                       : did_you_mean(domain, all, "");
    if (!around_.names_are_the_clusters && fix.empty()) return false;  // another driver's
    say({.what = fmt::format("no device has attributes or capacities of the domain '{}'",
                             shown(domain)),
         .fix = fix.empty() ? fmt::format("write one of: {}", fmt::join(all, ", ")) : fix,
         .certain = around_.names_are_the_clusters});
    return false;
  }

  // `shape`: what is wrong with the name's spelling; empty: nothing.
  void check_name(const CelReference& one, std::string_view domain, std::string_view name,
                  std::string shape) {
    const auto kind = around_.names.attribute(domain, name);
    const bool is_capacity = around_.names.has_capacity(domain, name);
    if (!kind && !is_capacity) {
      unknown_name(one, domain, name, shape);
      return;
    }
    // A name may be both, of two drivers' devices: then the written form counts.
    const bool should_be_capacity = is_capacity && (one.is_capacity || !kind);
    std::vector<std::string> wrong;
    if (should_be_capacity != one.is_capacity) {
      wrong.push_back(fmt::format("{} is no {} but {} {}", name, kind_name(one.is_capacity),
                                  should_be_capacity ? "a" : "an", kind_name(should_be_capacity)));
    }
    if (!shape.empty()) wrong.push_back(std::move(shape));
    auto text = reference_text(should_be_capacity, domain, name);
    CelRewrite compared;
    if (one.comparison) {
      compared = should_be_capacity ? compare_capacity(text, name, *one.comparison)
                                    : compare_attribute(text, *kind, *one.comparison);
      if (!compared.what.empty()) wrong.push_back(compared.what);
    }
    if (wrong.empty()) return;
    correct(one, std::move(text), std::move(compared), fmt::format("{}", fmt::join(wrong, "; ")));
  }

  void correct(const CelReference& one, std::string text, CelRewrite compared, std::string wrong) {
    auto what =
        fmt::format("{}: {}", shown(expression_.substr(one.begin, one.end - one.begin)), wrong);
    Edit edit{.begin = one.begin, .end = one.end, .text = std::move(text)};
    if (!compared.what.empty() && !compared.text) {
      say({.what = std::move(what),
           .fix = fmt::format("write a comparison that {} can be compared by, such as {}",
                              edit.text, example(edit.text))});
      return;
    }
    if (compared.text) {
      edit = {.begin = one.comparison->begin,
              .end = one.comparison->end,
              .text = *std::move(compared.text)};
    }
    say({.what = std::move(what),
         .fix = fmt::format("write {}{}", edit.text,
                            compared.remark.empty() ? "" : fmt::format(" ({})", compared.remark)),
         .corrected = true});
    edits_.push_back(std::move(edit));
  }

  static std::string example(std::string_view reference) {
    return fmt::format(
        "{}.compareTo({}) >= 0", reference,
        reference.starts_with("device.capacity") ? "quantity('40Gi')" : "semver('9.0.0')");
  }

  void unknown_name(const CelReference& one, std::string_view domain, std::string_view name,
                    const std::string& shape) {
    if (!shape.empty() && around_.names.has_domain(domain) && !around_.names_are_the_clusters) {
      // This is wrong even for an unknown name.
      say({.what = fmt::format("{}: {}", shown(expression_.substr(one.begin, one.end - one.begin)),
                               shape),
           .fix = is_plain(name)
                      ? fmt::format("write {}", reference_text(one.is_capacity, domain, name))
                      : "write the driver's name into the brackets"});
    }
    if (!around_.names.has_domain(domain)) {
      check_domain(domain);
      return;
    }
    const auto all = around_.names.names(domain);
    say({.what = fmt::format("{} has no attribute and no capacity {}{}", domain, shown(name),
                             around_.names_are_the_clusters ? " on any device of the cluster" : ""),
         .fix = did_you_mean(name, all, fmt::format("it has: {}", fmt::join(all, ", "))),
         .certain = around_.names_are_the_clusters});
  }

  std::string_view expression_;
  const Surroundings& around_;
  std::string driver_;
  std::vector<CelFinding> findings_;
  std::vector<Edit> edits_;
};

}  // namespace

CelCheck check_cel(std::string_view expression, const Surroundings& around) {
  CelCheck refused{.expression = std::string(expression), .findings = {}};
  if (expression.size() > kLongestCel) {
    refused.findings.push_back(
        {.what = fmt::format("the expression has {} bytes", expression.size()),
         .fix = fmt::format("at most {} are allowed", kLongestCel)});
    return refused;
  }
  const auto tokens = cel_tokens(expression);
  if (!tokens || tokens->empty()) {
    refused.findings.push_back(
        tokens ? CelFinding{.what = "the expression is empty",
                            .fix = fmt::format("write what a device must be, such as "
                                               "device.driver == '{}'",
                                               around.driver)}
               : CelFinding{.what = tokens.error().what, .fix = tokens.error().hint});
    return refused;
  }
  return CelChecker(expression, around).check(*tokens);
}

}  // namespace tranche::lint
