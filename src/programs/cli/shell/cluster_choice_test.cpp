#include "cli/shell/cluster_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace tranche::cli::cluster_choice_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ClusterChoice : public testing::Test {
 protected:
  // Writes a file with one context; its cluster and user have the same name.
  std::string write(const std::string& file, const std::string& context, bool current = true) {
    const auto path = dir_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path);
    if (current) out << "current-context: " << context << "\n";
    out << "contexts:\n- {name: " << context << ", context: {cluster: " << context << "}}\n"
        << "clusters:\n- {name: " << context << ", cluster: {server: 'https://" << context
        << "'}}\n";
    return path.string();
  }
  std::string home() const { return dir_.path() / "home"; }
  std::string server_of(const std::map<std::string, std::string>& environment,
                        const ApiServer& asked = {}, bool by_flag = false) {
    const auto chosen = choose_cluster(asked, by_flag, environment);
    return chosen ? chosen->server : chosen.error().message();
  }

  test::TempDir dir_;
};

TEST_F(ClusterChoice, GoesByFlagThenVariableThenHome) {
  const auto flag = write("flag", "f");
  const auto variable = write("variable", "v");
  write("home/.kube/config", "h");
  EXPECT_EQ(server_of({{"KUBECONFIG", variable}, {"HOME", home()}}, {.kubeconfig = flag}, true),
            "https://f:443");
  EXPECT_EQ(server_of({{"KUBECONFIG", variable}, {"HOME", home()}}), "https://v:443");
  EXPECT_EQ(server_of({{"HOME", home()}}), "https://h:443");
}

TEST_F(ClusterChoice, TakesTheContextFromTheFileOfTheListThatKnowsIt) {
  const auto one = write("one", "a", false);
  const auto two = write("two", "b");
  const auto list = one + ":" + (dir_.path() / "nowhere").string() + ":" + two;
  EXPECT_EQ(server_of({{"KUBECONFIG", list}}), "https://b:443") << "its current-context";
  EXPECT_EQ(server_of({{"KUBECONFIG", list}}, {.context = "a"}), "https://a:443");
  EXPECT_THAT(server_of({{"KUBECONFIG", list}}, {.context = "c"}),
              AllOf(HasSubstr("knows the context \"c\""), HasSubstr("they have a, b")));
}

TEST_F(ClusterChoice, SaysWhereItLooked) {
  const auto nowhere = server_of({{"KUBECONFIG", "/no/such"}, {"HOME", home()}});
  EXPECT_THAT(nowhere, AllOf(HasSubstr("KUBECONFIG names /no/such, which is not there"),
                             HasSubstr("there is no " + home() + "/.kube/config"),
                             HasSubstr("this is no Pod"), HasSubstr("--kubeconfig")));
  EXPECT_THAT(server_of({}), AllOf(HasSubstr("KUBECONFIG is not set"), HasSubstr("HOME is not")));
  EXPECT_THAT(server_of({{"HOME", home()}}, {.context = "x"}),
              AllOf(HasSubstr("context x"), HasSubstr("there is no " + home())));
  EXPECT_THAT(server_of({}, {.kubeconfig = "/no/such"}, true),
              HasSubstr("--kubeconfig: there is no file /no/such"));
}

TEST_F(ClusterChoice, ErrorsOfUsageAreTold) {
  EXPECT_EQ(choose_cluster({.kubeconfig = "/no/such"}, true, {}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(choose_cluster({}, false, {}).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace tranche::cli::cluster_choice_test
