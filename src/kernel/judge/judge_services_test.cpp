#include "kernel/judge/judge_services.h"

#include <sys/stat.h>

#include <atomic>

#include "base/http/http_server.h"
#include "kernel/judge/judge_pool.h"
#include "kernel/judge/judge_secret.h"
#include "kernel/judge/judge_test_support.h"
#include "kernel/judge/task_identity.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

// Small sizes alone: what is tested here is the way to the judge.
Judge& small_judge() {
  static Judge judge(test_service(), [] {
    JudgeOptions options = test_judge().options();
    options.full_size = false;
    return options;
  }());
  return judge;
}

// What `kernelwright serve` does for POST /v1/judge, over a judge of the test's.
class JudgeServer {
 public:
  explicit JudgeServer(std::function<JudgeFacts(JudgeFacts)> change = {}, std::function<std::string()> instead = {})
      : change_(std::move(change)), instead_(std::move(instead)) {
    auto started = HttpServer::start({}, [this](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
      reply->respond(answer(request));
    });
    EXPECT_TRUE(started.ok());
    server_ = std::move(started).value();
  }
  std::string address() const { return server_->address(); }
  std::atomic<int> judged = 0;

 private:
  HttpResponse answer(const HttpRequest& request) {
    if (request.path == "/ready") return {200, "application/json", "{}", {}};
    if (request.method == "GET") {
      JudgeFacts facts = facts_of(small_judge(), 2, request.query.at("challenge"));
      if (change_) facts = change_(facts);
      return {200, "application/json", to_json(facts).dump(), {}};
    }
    ++judged;
    if (instead_) return {200, "application/json", instead_(), {}};
    const Json asked = Json::parse(request.body);
    const Task task = parse_task(asked["task"]["yaml"].get<std::string>(), "task.yaml").value();
    if (task_identity(task) != asked["task_identity"]) return http_error(409, "another task");
    std::string kernel;
    if (asked.contains("kernel")) kernel = asked["kernel"];
    for (std::size_t i = 0; asked.contains("kernel_hex") && i < asked["kernel_hex"].get<std::string>().size(); i += 2)
      kernel += static_cast<char>(std::stoi(asked["kernel_hex"].get<std::string>().substr(i, 2), nullptr, 16));
    const Verdict verdict = small_judge().judge(task, kernel, "kernel.cu");
    const Json reply{{"id", "0"}, {"verdict", to_json(verdict)}};
    return {200, "application/json", reply.dump(-1, ' ', false, Json::error_handler_t::replace), {}};
  }

  std::function<JudgeFacts(JudgeFacts)> change_;
  std::function<std::string()> instead_;
  std::unique_ptr<HttpServer> server_;
};

JudgeServicesOptions options_for(const std::string& where) {
  JudgeServicesOptions options;
  options.where = where;
  options.secret = "a secret for tests";
  options.purpose = "verdict";
  options.rules = small_judge().rules();
  options.limits.first_wait = std::chrono::milliseconds(1);
  return options;
}

// Everything of a verdict but how long it took.
std::string settled(Verdict verdict) {
  verdict.judge_ms = verdict.compile_ms = 0;
  verdict.stages_ms.clear();
  verdict.from_cache = false;
  verdict.work = {};
  return to_json(verdict).dump(-1, ' ', false, Json::error_handler_t::replace);
}

TEST(JudgeServices, TheVerdictIsThatOfOurOwnJudge) {
  JudgeServer a, b;
  const auto services = JudgeServices::open(options_for(a.address() + "," + b.address()));
  ASSERT_TRUE(services.ok()) << to_string(services.error());
  EXPECT_EQ((*services)->workers(), 8) << "two services, two workers each, and one more kernel on its way for each";
  JudgeOptions remote = small_judge().options();
  remote.services = services->get();
  Judge judge(test_service(), remote);
  EXPECT_EQ(judge_workers(judge), 8);
  const Task relu = suite_task("relu");
  const std::string kernels[] = {relu.naive, "int x;", relu.naive + "// \xff\xfe no UTF-8\n", "",
                                 std::string(max_kernel_file_bytes + 1, ' ')};
  for (const std::string& kernel : kernels)
    EXPECT_EQ(settled(judge.judge(relu, kernel, "k.cu")), settled(small_judge().judge(relu, kernel, "k.cu")))
        << kernel.substr(0, 100);
  EXPECT_EQ(a.judged + b.judged, 3) << "what is no kernel at a glance does not travel";
}

TEST(JudgeServices, EveryTaskOfTheSuiteTravelsUnchanged) {
  int tasks = 0;
  const auto suite = load_suite(source_root() / "tasks");
  ASSERT_TRUE(suite.ok());
  for (const SuiteEntry& entry : *suite) {
    if (!entry.task.ok()) continue;
    const Json body = Json::parse(judge_question(*entry.task, "k", "training"));
    const auto read = parse_task(body["task"]["yaml"].get<std::string>(), "task.yaml");
    ASSERT_TRUE(read.ok()) << entry.name << ": " << to_string(read.error());
    EXPECT_EQ(task_identity(*read), task_identity(*entry.task)) << entry.name;
    EXPECT_EQ(body["task_identity"], task_identity(*entry.task));
    ++tasks;
  }
  EXPECT_GT(tasks, 20);
}

TEST(JudgeServices, AnotherSecretIsRefusedAndNeverSaid) {
  JudgeServer server;
  JudgeServicesOptions options = options_for(server.address());
  options.secret = "another secret, and quite a long one";
  const auto services = JudgeServices::open(options);
  ASSERT_FALSE(services.ok());
  const std::string said = to_string(services.error());
  EXPECT_NE(said.find("another secret, so its verdicts would not be ours"), std::string::npos) << said;
  EXPECT_NE(said.find("--judge-secret-file"), std::string::npos) << said;
  EXPECT_EQ(said.find("quite a long one"), std::string::npos);
  EXPECT_EQ(server.judged, 0);
}

TEST(JudgeServices, WhoDoesNotAnswerIsNamedAtOnceAndInTheError) {
  const TemporaryFolder folder;
  JudgeServicesOptions options = options_for("unix:" + (folder.path() / "no.sock").string());
  options.limits.opening_time = std::chrono::milliseconds(500);
  testing::internal::CaptureStderr();
  const auto services = JudgeServices::open(options);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("for 1 of the services of --judge-on: " + options.where), std::string::npos) << said;
  ASSERT_FALSE(services.ok());
  EXPECT_TRUE(services.error().message.starts_with("--judge-on: none of 1 servers was ready within 1 s"))
      << services.error().message;
}

TEST(JudgeServices, PoolsOfUnlikeJudgesAreRefused) {
  JudgeServer plain;
  const auto refused = [&](std::function<JudgeFacts(JudgeFacts)> change, const std::string& words) {
    JudgeServer other(std::move(change));
    JudgeServicesOptions options = options_for(plain.address() + "," + other.address());
    options.rules.clear();
    const auto services = JudgeServices::open(options);
    ASSERT_FALSE(services.ok()) << words;
    EXPECT_NE(services.error().message.find(words), std::string::npos) << services.error().message;
  };
  refused(
      [](JudgeFacts facts) {
        facts.backend = "gpu";
        facts.device = "NVIDIA H200";
        return facts;
      },
      "measured on NVIDIA H200");
  refused(
      [](JudgeFacts facts) {
        facts.profile = "NVIDIA A100";
        return facts;
      },
      "models times for");
  refused(
      [](JudgeFacts facts) {
        facts.profile_digest = "0";
        return facts;
      },
      "different numbers");
  refused(
      [](JudgeFacts facts) {
        facts.rules = "others";
        return facts;
      },
      "different versions");
  // And what was asked for must be what they are.
  JudgeServicesOptions asked = options_for(plain.address());
  asked.profile_digest = "f00d";
  EXPECT_FALSE(JudgeServices::open(asked).ok());
}

TEST(JudgeServices, AServiceThatTalksNonsenseCostsItselfAlone) {
  JudgeServer good, bad({}, [] { return R"({"verdict": {"status": "correct", "correct": false}})"; });
  JudgeServicesOptions options = options_for(good.address() + "," + bad.address());
  const auto services = JudgeServices::open(options);
  ASSERT_TRUE(services.ok()) << to_string(services.error());
  const Task relu = suite_task("relu");
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ((*services)->judge(relu, "// " + std::to_string(i), "k.cu").status,
              small_judge().judge(relu, "// " + std::to_string(i), "k.cu").status);
}

TEST(JudgeServices, FactsFromOutsideAreBounded) {
  const JudgeFacts facts = facts_of(small_judge(), 3, "");
  const auto read = read_judge_facts(to_json(facts).dump());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(difference(facts, *read), "");
  EXPECT_EQ(read->workers, 3);
  for (const char* wrong :
       {"", "[]", "{}", R"({"workers": 0, "backend": "emulator"})", R"({"workers": 1, "backend": "abacus"})",
        R"({"workers": 1e9, "backend": "gpu"})", R"({"workers": 1, "backend": "gpu", "limit_seconds": -1})",
        R"({"workers": 1, "backend": "gpu", "device": 7})"})
    EXPECT_FALSE(read_judge_facts(wrong).ok()) << wrong;
  EXPECT_FALSE(read_judge_facts(std::string(1u << 20, ' ')).ok());
}

TEST(JudgeServices, NamesAreRead) {
  EXPECT_TRUE(names_judge_services("http://a:8000,unix:/tmp/x"));
  EXPECT_FALSE(names_judge_services("gpu"));
  EXPECT_EQ(parse_judge_services("http://a:8000, unix:/tmp/x ,https://b").value().size(), 3u);
  for (const char* wrong : {"http://a,", "http://a,http://a", "http://a,gpu", "http://me:password@a"})
    EXPECT_FALSE(parse_judge_services(wrong).ok()) << wrong;
}

TEST(JudgeServices, AKeyIsNotSentWhereOthersReadIt) {
  ::setenv("KERNELWRIGHT_API_KEY", "sk-test", 1);
  const auto services = JudgeServices::open(options_for("http://192.0.2.1:8000"));
  ::unsetenv("KERNELWRIGHT_API_KEY");
  ASSERT_FALSE(services.ok());
  EXPECT_NE(services.error().message.find("others can read it"), std::string::npos) << services.error().message;
}

TEST(JudgeSecret, IsReadFromAFileOfOnesOwn) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "secret";
  ASSERT_TRUE(write_file_atomic(file, std::string(40, 's') + "\n").ok());
  ::chmod(file.c_str(), 0600);
  EXPECT_EQ(read_judge_secret(file).value(), std::string(40, 's'));
  ::chmod(file.c_str(), 0640);
  EXPECT_FALSE(read_judge_secret(file).ok()) << "others may read it";
  ASSERT_TRUE(write_file_atomic(file, "short").ok());
  ::chmod(file.c_str(), 0600);
  EXPECT_FALSE(read_judge_secret(file).ok());
  EXPECT_FALSE(read_judge_secret(folder.path() / "none").ok());
}

TEST(JudgeSecret, AProofNeedsTheSecretAndTheChallenge) {
  const std::string one = judge_challenge().value(), other = judge_challenge().value();
  EXPECT_TRUE(is_judge_challenge(one));
  EXPECT_FALSE(is_judge_challenge("../../etc/passwd"));
  EXPECT_NE(one, other);
  EXPECT_EQ(secret_proof("s", one), secret_proof("s", one));
  EXPECT_NE(secret_proof("s", one), secret_proof("s", other));
  EXPECT_NE(secret_proof("s", one), secret_proof("t", one));
}

}  // namespace
}  // namespace kw
