#include "cli/doctor/report.h"

#include <gtest/gtest.h>

namespace tranche::cli::doctor_report_test {
namespace {

TEST(DoctorReport, AFindingSaysWhereAndWhatToDo) {
  const auto* const check = explain::check_of_source("host-processes");
  const std::vector<explain::Finding> findings = {{check, "/proc", "only our own"},
                                                  {check, "", ""}};
  const auto text = doctor_text(findings);
  EXPECT_NE(text.find("TRN-N041  the node's processes are not seen"), std::string::npos) << text;
  EXPECT_NE(
      text.find("\n    where: /proc\n    said:  only our own\n    do:    set metrics.hostPID"),
      std::string::npos)
      << text;
  const auto json = doctor_document(findings).text();
  EXPECT_NE(json.find(R"("where":"/proc","said":"only our own")"), std::string::npos) << json;
}

TEST(DoctorReport, WithoutAFindingItSaysSo) {
  EXPECT_NE(doctor_text({}).find("no finding"), std::string::npos);
  EXPECT_EQ(doctor_document({}).text(), R"({"version":"doctor/v1","findings":[]})");
}

}  // namespace
}  // namespace tranche::cli::doctor_report_test
