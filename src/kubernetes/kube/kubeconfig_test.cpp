#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "kube/credentials.h"
#include "support/temp_dir.h"

namespace tranche::kube::kubeconfig_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kPath = "/etc/tranche/kube.conf";

std::string config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
         "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: gpu}\n"
         "- name: other\n  context: {cluster: c, user: nobody}\n"
         "clusters:\n- name: c\n  cluster: " +
         cluster + "\nusers:\n- name: u\n  user: " + user + "\n";
}

TEST(Kubeconfig, FilesAreNamedAndRelativeToIt) {
  const auto credentials = parse_kubeconfig(
      config("{server: 'https://10.0.0.1:6443/', certificate-authority: pki/ca.crt, "
             "tls-server-name: api}",
             "{client-certificate: /c.crt, client-key: c.key}"),
      kPath);
  ASSERT_TRUE(credentials) << credentials.error().message();
  EXPECT_EQ(credentials->server, "https://10.0.0.1:6443");
  EXPECT_EQ(credentials->tls_server_name, "api");
  EXPECT_EQ(credentials->authority, (Secret{"", "/etc/tranche/pki/ca.crt"}));
  EXPECT_EQ(credentials->certificate, (Secret{"", "/c.crt"}));
  EXPECT_EQ(credentials->key, (Secret{"", "/etc/tranche/c.key"}));
  EXPECT_TRUE(credentials->token.empty());
  EXPECT_EQ(credentials->ns, "gpu");
  EXPECT_EQ(credentials->from, "kubeconfig /etc/tranche/kube.conf, context main");
}

TEST(Kubeconfig, DataTakesPrecedenceOverFiles) {
  const auto credentials = parse_kubeconfig(
      config("{server: 'https://a', certificate-authority: x, certificate-authority-data: Y2E=}",
             "{client-certificate-data: Y3J0, client-key-data: a2V5}"),
      kPath);
  ASSERT_TRUE(credentials) << credentials.error().message();
  EXPECT_EQ(credentials->authority, (Secret{"ca", ""}));
  EXPECT_EQ(credentials->certificate, (Secret{"crt", ""}));
  EXPECT_EQ(credentials->key, (Secret{"key", ""}));
}

TEST(Kubeconfig, Tokens) {
  const auto inline_token = parse_kubeconfig(config("{server: 'https://a'}", "{token: t}"), kPath);
  EXPECT_EQ(inline_token->token, (Secret{"t", ""}));
  const auto both =
      parse_kubeconfig(config("{server: 'https://a'}", "{token: t, tokenFile: f}"), kPath);
  EXPECT_EQ(both->token, (Secret{"", "/etc/tranche/f"}));
}

TEST(Kubeconfig, ContextByName) {
  const auto text = config("{server: 'https://a', insecure-skip-tls-verify: true}", "{}");
  const auto found = parse_kubeconfig(text, kPath, "main");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->insecure);
  const auto missing = parse_kubeconfig(text, kPath, "nowhere");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(),
              AllOf(HasSubstr("no \"nowhere\" among contexts"), HasSubstr("it has main, other")));
  const auto no_user = parse_kubeconfig(text, kPath, "other");
  ASSERT_FALSE(no_user);
  EXPECT_THAT(no_user.error().what, HasSubstr("no \"nobody\" among users"));
}

TEST(Kubeconfig, ErrorsNameTheLine) {
  const std::string good = "{server: 'https://a'}";
  const struct {
    const char* name;
    std::string text;
    Code code;
    const char* what;
  } cases[] = {
      {"no YAML", "a: [", Code::kInvalidArgument, "kube.conf:"},
      {"empty", "", Code::kInvalidArgument, "no kubeconfig: it is null"},
      {"no current context", "clusters: []", Code::kInvalidArgument, "current-context is not set"},
      {"no contexts", "current-context: a", Code::kInvalidArgument, "no \"a\" among contexts"},
      {"no server", config("{}", "{}"), Code::kInvalidArgument, "the cluster has no server"},
      {"server", config("{server: 'a:1'}", "{}"), Code::kInvalidArgument,
       "kube.conf:11: \"a:1\" is no address of an API server"},
      {"proxy", config("{server: 'https://a', proxy-url: 'http://p'}", "{}"), Code::kUnsupported,
       "proxy-url is not supported"},
      {"authority no base64",
       config("{server: 'https://a', certificate-authority-data: '?'}", "{}"),
       Code::kInvalidArgument, "certificate-authority-data is no base64"},
      {"insecure and authority",
       config("{server: 'https://a', certificate-authority: c, insecure-skip-tls-verify: true}",
              "{}"),
       Code::kInvalidArgument, "exclude each other"},
      {"insecure no boolean",
       config("{server: 'https://a', insecure-skip-tls-verify: maybe}", "{}"),
       Code::kInvalidArgument, "neither true nor false"},
      {"exec", config(good, "{exec: {command: aws}}"), Code::kUnsupported, "exec is not supported"},
      {"auth-provider", config(good, "{auth-provider: {name: gcp}}"), Code::kUnsupported,
       "auth-provider is not supported"},
      {"password", config(good, "{username: a, password: b}"), Code::kUnsupported,
       "username is not supported"},
      {"impersonation", config(good, "{token: t, as: kate}"), Code::kUnsupported,
       "as is not supported"},
      {"certificate without key", config(good, "{client-certificate: c}"), Code::kInvalidArgument,
       "belong together"},
      {"token is a list", config(good, "{token: [a]}"), Code::kInvalidArgument,
       "token is a list where a text is expected"},
      {"cluster is a text", config("text", "{}"), Code::kInvalidArgument,
       "clusters \"c\" has no mapping cluster"},
  };
  for (const auto& test : cases) {
    const auto credentials = parse_kubeconfig(test.text, kPath);
    ASSERT_FALSE(credentials) << test.name;
    EXPECT_EQ(credentials.error().code, test.code) << test.name;
    EXPECT_THAT(credentials.error().what, HasSubstr(test.what)) << test.name;
  }
}

TEST(Kubeconfig, AMissingFileIsReported) {
  const auto credentials = load_kubeconfig("/nowhere/kube.conf");
  ASSERT_FALSE(credentials);
  EXPECT_EQ(credentials.error().code, Code::kNotFound);
}

class InClusterTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const auto folder = fs_.resolve(std::filesystem::path(kServiceAccountFolder));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name) << text;
  }
  test::TempDir dir_;
  FsRoot fs_{dir_.path()};
};

TEST_F(InClusterTest, ServiceAccount) {
  write("token", "t\n");
  write("namespace", "gpu\n");
  const auto credentials = in_cluster({"10.96.0.1", "443"}, fs_);
  ASSERT_TRUE(credentials) << credentials.error().message();
  EXPECT_EQ(credentials->server, "https://10.96.0.1:443");
  EXPECT_EQ(credentials->ns, "gpu");
  EXPECT_EQ(credentials->token.file,
            dir_.path() / "var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_EQ(credentials->authority.file,
            dir_.path() / "var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
}

TEST_F(InClusterTest, AnUnreadableNamespaceIsNotNone) {
  write("token", "t");
  std::filesystem::create_directory(dir_.path() /
                                    "var/run/secrets/kubernetes.io/serviceaccount/namespace");
  const auto credentials = in_cluster({"10.96.0.1", "443"}, fs_);
  ASSERT_FALSE(credentials);
  EXPECT_THAT(credentials.error().message(), HasSubstr("namespace"));
}

TEST_F(InClusterTest, Ipv6) {
  write("token", "t");
  EXPECT_EQ(in_cluster({"fd00:10::1", "443"}, fs_)->server, "https://[fd00:10::1]:443");
}

TEST_F(InClusterTest, OutsideOfAPod) {
  for (const auto& address :
       {ServiceAddress{}, ServiceAddress{"10.96.0.1", std::nullopt}, ServiceAddress{"", "443"}}) {
    const auto credentials = in_cluster(address, fs_);
    ASSERT_FALSE(credentials);
    EXPECT_EQ(credentials.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(credentials.error().message(), HasSubstr("name a kubeconfig file"));
  }
}

TEST_F(InClusterTest, PodWithoutAToken) {
  const auto credentials = in_cluster({"10.96.0.1", "443"}, fs_);
  ASSERT_FALSE(credentials);
  EXPECT_THAT(credentials.error().hint, HasSubstr("automountServiceAccountToken"));
}

TEST_F(InClusterTest, BrokenAddress) {
  write("token", "t");
  EXPECT_EQ(in_cluster({"a b", "443"}, fs_).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace tranche::kube::kubeconfig_test
