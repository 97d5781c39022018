// What a kernel could do to the machine if it owned its worker: over the emulated driver, which carries out what such a
// kernel would; and on a GPU, where the worker is looked at from outside.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.h"
#include "kernel/gpu/gpu_for_tests.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* intruder =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry kernelwright_intruder(.param .u64 orders, .param .u32 bytes, .param .u64 results)\n{\nret;\n}\n";

// What comes of each order, 0 or an error number, in a worker that is confined so.
std::vector<int> results_of(GpuWorker& worker, const std::vector<std::string>& orders) {
  load_helpers(worker, Image::ptx);
  const std::string image = intruder;
  const std::vector<std::string> kernels = {"kernelwright_intruder"};
  EXPECT_TRUE(worker.load_module({5, &image, &kernels}, patience).done());
  std::string text;
  for (const std::string& order : orders) text += order + "\n";
  text.resize((text.size() + 255) / 256 * 256, '\n');
  const auto pack = InputPack::make({{text, text.size(), std::nullopt}});
  EXPECT_TRUE(worker.load_inputs(*pack, patience).done());
  RunRequest request;
  request.slot = 5;
  request.inputs = pack->id();
  request.plan.buffers = {{Buffer::Kind::input, text.size()}, {Buffer::Kind::output, orders.size() * sizeof(int)}};
  GpuLaunch launch;
  const auto bytes = static_cast<std::uint32_t>(text.size());
  launch.arguments = {{std::string(8, '\0'), {{0, 0, 0}}},
                      {std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes), {}},
                      {std::string(8, '\0'), {{0, 1, 0}}}};
  request.plan.steps.emplace_back(launch);
  const auto ran = worker.run({request}, patience);
  EXPECT_TRUE(ran.done()) << ran.text;
  std::vector<int> results(orders.size(), -1);
  if (ran.done()) std::memcpy(results.data(), ran.value.at(0).outputs.at(0).data(), results.size() * sizeof(int));
  return results;
}

// A port of this machine on which somebody listens.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &bytes), 0);
    port_ = ntohs(at.sin_port);
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }

 private:
  int socket_;
  int port_ = 0;
};

class WorkerConfinement : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
    ASSERT_TRUE(write_file_atomic(folder_.path() / "secret", "a secret").ok());
    if (const char* home = std::getenv("HOME")) home_ = home;
    home_file_ = fs::path(home_) / (".kernelwright-confinement-test-" + std::to_string(::getpid()));
    std::ofstream(home_file_) << "a secret";
  }
  void TearDown() override { fs::remove(home_file_); }

  std::vector<std::string> file_orders() const {
    return {"read /etc/passwd",
            "read " + (folder_.path() / "secret").string(),
            "read " + home_file_.string(),
            "list /usr/bin",
            "list " + home_,
            "read /proc/" + std::to_string(::getppid()) + "/environ"};
  }
  std::vector<std::string> other_orders() const {
    return {"write /tmp/kernelwright-intruder-" + std::to_string(::getpid()),
            "write /kernelwright-intruder",
            "write " + (folder_.path() / "made").string(),
            "connect " + std::to_string(listener_.port()),
            "run /bin/true",
            "signal " + std::to_string(::getpid())};
  }

  TemporaryFolder folder_;
  Listener listener_;
  std::string home_ = "/root";
  fs::path home_file_;
};

// The attempts are real: without namespaces files can be read and written.
TEST_F(WorkerConfinement, TheFilterAloneLeavesFiles) {
  const auto worker = GpuWorker::start(1u << 30, Confinement::filter);
  ASSERT_TRUE(worker.ok()) << to_string(worker.error());
  EXPECT_FALSE((*worker)->facts().confined);
  EXPECT_THAT((*worker)->facts().protection, testing::HasSubstr("files are visible"));
  EXPECT_THAT(results_of(**worker, file_orders()), testing::Each(0));
  const auto results = results_of(**worker, {other_orders()[2], other_orders()[3], other_orders()[4]});
  EXPECT_EQ(results[0], 0);
  EXPECT_EQ(results[1], EPERM) << "a socket";
  EXPECT_EQ(results[2], EPERM) << "a program";
}

class WorkerNamespaces : public WorkerConfinement, public testing::WithParamInterface<Confinement> {};

TEST_P(WorkerNamespaces, NothingOfTheMachineIsThere) {
  const auto worker = GpuWorker::start(1u << 30, GetParam());
  ASSERT_TRUE(worker.ok()) << to_string(worker.error());
  const GpuFacts& facts = (*worker)->facts();
  if (!facts.confined) GTEST_SKIP() << "this machine does not allow it: " << facts.protection;
  EXPECT_THAT(facts.protection, testing::HasSubstr("the driver's files alone"));
  EXPECT_THAT(results_of(**worker, file_orders()), testing::Each(testing::AnyOf(ENOENT, EACCES)));
  EXPECT_THAT(results_of(**worker, other_orders()),
              testing::ElementsAre(testing::AnyOf(ENOENT, EROFS, EACCES), testing::AnyOf(EROFS, EACCES),
                                   testing::AnyOf(ENOENT, EROFS, EACCES), EPERM, EPERM, ESRCH));
  EXPECT_FALSE(fs::exists(folder_.path() / "made"));
  // What a driver needs is there.
  EXPECT_THAT(results_of(**worker, {"read /dev/null", "list /sys/devices/system/cpu", "list /"}), testing::Each(0));
}

INSTANTIATE_TEST_SUITE_P(Levels, WorkerNamespaces, testing::Values(Confinement::own_root, Confinement::own_user),
                         [](const auto& level) { return name_of(level.param); });

// Where a worker was asked for everything and the driver does not work so, it is started with less, and says so.
TEST_F(WorkerConfinement, ADriverThatDoesNotWorkConfinedIsStartedWithLess) {
  ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
  ::setenv("KERNELWRIGHT_EMULATED_NEEDS", "/etc/passwd", 1);  // it fails where that cannot be read
  const auto worker = GpuWorker::start(1u << 30);
  ::unsetenv("KERNELWRIGHT_EMULATED_NEEDS");
  ASSERT_TRUE(worker.ok()) << to_string(worker.error());
  EXPECT_FALSE((*worker)->facts().confined);
  EXPECT_THAT((*worker)->facts().protection, testing::HasSubstr("the driver does not work once it is confined"));
  EXPECT_THAT(results_of(**worker, {"read /etc/passwd"}), testing::Each(0));
}

// On hardware nobody can be asked to intrude; but its parent can look at what the worker has.
TEST(GpuConfinement, AWorkerOnARealGpuHasTheDriversFilesAlone) {
  ::unsetenv("KERNELWRIGHT_LIBCUDA");
  if (::access("/dev/nvidiactl", F_OK) != 0) GTEST_SKIP() << "no NVIDIA GPU here";
  const auto worker = GpuWorker::start(1u << 30);
  ASSERT_TRUE(worker.ok()) << to_string(worker.error());
  const GpuFacts& facts = (*worker)->facts();
  std::printf("%s: %s\n", facts.name.c_str(), facts.protection.c_str());
  EXPECT_TRUE(facts.confined) << facts.protection;
  const fs::path process = "/proc/" + std::to_string((*worker)->pid());
  std::ifstream mounts(process / "mountinfo");
  for (std::string line; std::getline(mounts, line);) std::printf("mount: %s\n", line.c_str());
  std::ifstream status(process / "status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Cap") || line.starts_with("Seccomp") || line.starts_with("NSpid"))
      std::printf("%s\n", line.c_str());
  std::error_code refused;
  for (const char* each : {"mnt", "pid", "net", "ipc", "user"})
    EXPECT_NE(fs::read_symlink(process / "ns" / each, refused), fs::read_symlink(fs::path("/proc/self/ns") / each))
        << each;
  for (const char* gone : {"etc/passwd", "root", "home", "tmp", "bin/sh", "usr/bin"})
    EXPECT_FALSE(fs::exists(process / "root" / gone, refused)) << gone;
  EXPECT_TRUE(fs::exists(process / "root/dev/nvidiactl", refused));
  // And it works: helper kernels as machine code, and PTX that the driver compiles there.
  load_helpers(**worker, Image::cubin);
  load_helpers(**worker, Image::ptx);
  const std::string data(1 << 20, 'x');
  const auto pack = InputPack::make({{data, data.size(), std::nullopt}});
  ASSERT_TRUE((*worker)->load_inputs(*pack, patience).done());
  RunRequest request;
  request.slot = 0;
  request.inputs = pack->id();
  request.plan.buffers = {{Buffer::Kind::input, data.size()}, {Buffer::Kind::output, data.size()}};
  request.plan.steps.emplace_back(GpuCopy{{0, 1, 0}, {0, 0, 0}, data.size()});
  const auto ran = (*worker)->run({request}, patience);
  ASSERT_TRUE(ran.done()) << ran.text;
  EXPECT_TRUE(ran.value.at(0).outputs.at(0) == data);
}

}  // namespace
}  // namespace kw
