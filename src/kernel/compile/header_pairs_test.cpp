// tests/headers: every header that a kernel may include, with code that nvcc accepts, alone and together with others in
// both orders. KW_ALL_HEADER_PAIRS=1 tries all pairs (an hour of one core) instead of a sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/random.h"
#include "base/test_length.h"
#include "kernel/compile/nvrtc.h"
#include "kernel/compile/service.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t seed = 20;

struct HeaderFile {
  std::string name;
  std::string includes;
  std::string body;
};

std::vector<HeaderFile> all_files() {
  std::vector<HeaderFile> files;
  for (const auto& entry : fs::directory_iterator(fs::path(KW_SOURCE_ROOT) / "tests" / "headers")) {
    if (entry.path().extension() != ".cu") continue;
    const std::string text = read_file(entry.path()).value();
    const std::size_t body = text.find("namespace use_");
    files.push_back({entry.path().stem(), text.substr(0, body), text.substr(body)});
  }
  std::sort(files.begin(), files.end(), [](const HeaderFile& a, const HeaderFile& b) { return a.name < b.name; });
  return files;
}

struct Source {
  std::string name;
  std::string text;
};

std::vector<Source> all_pairs(const std::vector<HeaderFile>& files) {
  std::vector<Source> pairs;
  for (const HeaderFile& a : files) {
    for (const HeaderFile& b : files) {
      if (&a != &b) pairs.push_back({a.name + " and " + b.name, a.includes + b.includes + a.body + b.body});
    }
  }
  return pairs;
}

// What does not compile, with the first words of the reason.
std::vector<std::string> refused(const std::vector<Source>& sources) {
  CompileService service({.pool = {}, .disk_cache = false, .disk = {}, .memory_cache_bytes = 0});
  std::vector<std::string> reasons(sources.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> callers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    callers.emplace_back([&] {
      for (std::size_t j = next++; j < sources.size(); j = next++) {
        CompileRequest request;
        request.source = sources[j].text;
        request.file_name = sources[j].name;
        request.architecture = GpuArchitecture::sm_80;
        request.want_cubin = false;
        const CompileResult result = service.compile(request);
        if (result.ok()) continue;
        reasons[j] = sources[j].name + ": " + result.explanation;
        for (const Diagnostic& diagnostic : result.diagnostics) {
          if (diagnostic.severity == Severity::error) reasons[j] += "\n  " + to_string(diagnostic).substr(0, 300);
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  std::erase(reasons, "");
  return reasons;
}

template <class T>
void shuffle(std::vector<T>& list, Random& random) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(HeaderPairsSlow, EachAlone) {
  std::vector<Source> sources;
  for (const HeaderFile& file : all_files()) sources.push_back({file.name, file.includes + file.body});
  ASSERT_GE(sources.size(), 70u);
  EXPECT_EQ(joined(refused(tested_share(sources))), "");
}

TEST(HeaderPairsSlow, TwoTogether) {
  std::vector<Source> pairs = all_pairs(all_files());
  if (std::getenv("KW_ALL_HEADER_PAIRS") == nullptr) {
    Random random(seed);
    shuffle(pairs, random);
    pairs.resize(thorough_tests() ? 40 : 16);
  }
  EXPECT_EQ(joined(refused(pairs)), "");
}

// The files would prove little if nvcc did not take them.
TEST(HeaderPairsSlow, NvccAcceptsThemToo) {
  const fs::path nvcc = find_cuda_toolkit().value().include.parent_path() / "bin" / "nvcc";
  const fs::path system_nvcc = "/usr/local/cuda/bin/nvcc";
  const fs::path program = fs::exists(nvcc) ? nvcc : system_nvcc;
  if (!fs::exists(program)) GTEST_SKIP() << "no nvcc beside the CUDA headers nor in /usr/local/cuda";
  std::vector<HeaderFile> files = all_files();
  Random random(seed);
  shuffle(files, random);
  files.resize(thorough_tests() ? 8 : 3);
  const TemporaryFolder folder;
  for (const HeaderFile& file : files) {
    const fs::path source = folder.path() / "use.cu";
    ASSERT_TRUE(write_file_atomic(source, file.includes + file.body).ok());
    const std::string command = program.string() + " -arch=sm_80 -ptx -o " + (folder.path() / "use.ptx").string() +
                                " " + source.string() + " >/dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << file.name;
  }
}

}  // namespace
}  // namespace kw
