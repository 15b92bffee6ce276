#include "config/programs/incident_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config::incident_options_test {
namespace {

using testing::HasSubstr;
using Verb = IncidentOptions::Verb;

TEST(IncidentOptions, Defaults) {
  EXPECT_EQ(load_incident_options({}, Verb::kList, "").value(), IncidentOptions{});
  EXPECT_EQ(load_incident_options({}, Verb::kShow, "x").value().id, "x");
}

TEST(IncidentOptions, AFileInPlaceOfAnId) {
  const Sources sources{.flags = {{"file", "F"}, {"output", "json"}}, .environment = {}};
  const auto options = load_incident_options(sources, Verb::kShow, "").value();
  EXPECT_EQ(options.file, "F");
  EXPECT_EQ(options.output, OutputForm::kJson);
  for (const auto& id : {"x", ""}) {
    const auto& given = *id == 'x' ? sources : Sources{};
    const auto refused = load_incident_options(given, Verb::kShow, id);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("name one incident, or a file"));
  }
  EXPECT_THAT(load_incident_options(sources, Verb::kList, "").error().message(),
              HasSubstr("'tranche incident show' takes it"));
}

}  // namespace
}  // namespace tranche::config::incident_options_test
