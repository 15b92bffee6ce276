#include "metrics/exposition.h"

#include <utility>

#include "base/utf8.h"

namespace tranche::metrics {
namespace {

bool needs_no_escape(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
}

// Appends the first character of `text`, which must not be empty, and returns its length.
std::size_t append_escaped_character(std::string& out, std::string_view text) {
  const Utf8Step step = utf8_step(text);
  const auto first = static_cast<unsigned char>(text.front());
  if (first == '\n') {
    out += "\\n";
  } else if (first == '"' || first == '\\') {
    out += '\\';
    out += text.front();
  } else if (!step.is_valid || first < 0x20 || first == 0x7F) {
    out += "\xEF\xBF\xBD";
  } else {
    out += text.substr(0, step.length);
  }
  return step.length;
}

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && needs_no_escape(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(append_escaped_character(out, text));
  }
}

// Of a help text, which is ours. Only OpenMetrics escapes quotes there.
void append_help(std::string& out, std::string_view text, Format format) {
  for (const char c : text) {
    if (c == '\\' || (c == '"' && format == Format::kOpenMetrics)) out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

std::string_view without(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

// OpenMetrics leaves _total and _info out of a family's name.
std::string_view family_name(const Family& family, Format format) {
  if (format == Format::kPrometheusText) return family.name;
  if (family.type == Type::kCounter) return without(family.name, "_total");
  return family.type == Type::kInfo ? without(family.name, "_info") : family.name;
}

std::string_view type_name(const Family& family, Format format) {
  if (family.type == Type::kGauge) return "gauge";
  if (format == Format::kPrometheusText) return family.type == Type::kInfo ? "gauge" : "counter";
  if (family.type == Type::kInfo) return family.name.ends_with("_info") ? "info" : "gauge";
  return family.name.ends_with("_total") ? "counter" : "unknown";
}

}  // namespace

LabelText& LabelText::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  if (!text_.empty()) text_ += ',';
  text_ += name;
  text_ += "=\"";
  append_escaped(text_, value);
  text_ += '"';
  return *this;
}

Exposition::Exposition(Format format, std::size_t expected_bytes) : format_(format) {
  out_.reserve(expected_bytes);
}

void Exposition::family(const Family& family) {
  family_ = family;
  head_due_ = true;
}

void Exposition::write_head() {
  head_due_ = false;
  const std::string_view name = family_name(family_, format_);
  const auto begin = [&](std::string_view keyword) {
    out_ += keyword;
    out_ += name;
    out_ += ' ';
  };
  begin("# HELP ");
  append_help(out_, family_.help, format_);
  out_ += '\n';
  begin("# TYPE ");
  out_ += type_name(family_, format_);
  out_ += '\n';
  if (format_ == Format::kPrometheusText || family_.unit.empty()) return;
  begin("# UNIT ");
  out_ += family_.unit;
  out_ += '\n';
}

void Exposition::line(std::string_view labels, const Value& value) {
  if (!is_finite(value)) return;
  if (head_due_) write_head();
  out_ += family_.name;
  if (!labels.empty()) {
    out_ += '{';
    out_ += labels;
    out_ += '}';
  }
  out_ += ' ';
  append(out_, value);
  out_ += '\n';
  ++lines_;
}

std::string Exposition::finish() && {
  if (format_ == Format::kOpenMetrics) out_ += "# EOF\n";
  return std::move(out_);
}

}  // namespace tranche::metrics
