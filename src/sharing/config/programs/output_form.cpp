#include "config/programs/output_form.h"

#include "config/programs/option_reader.h"

namespace tranche::config {

OutputForm read_output_form(OptionReader& reader) {
  const auto text = reader.choice("output", "no form");
  if (text == "json") return OutputForm::kJson;
  return text == "yaml" ? OutputForm::kYaml : OutputForm::kTable;
}

Result<OutputForm> load_output_form(const Sources& sources, unsigned use) {
  OptionReader reader(sources, use);
  return reader.result(read_output_form(reader));
}

}  // namespace tranche::config
