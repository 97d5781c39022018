// Lane operations against a real GPU: each form as a one-instruction PTX kernel, results compared bit by bit. Skipped
// where there is no NVIDIA driver. Forms that this GPU's architecture does not have are counted, not failed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "kernel/emulate/lane_sample.h"

namespace kw {
namespace {

// The few functions of the CUDA driver that this needs, bound at run time.
struct Driver {
  using Address = unsigned long long;
  int (*init)(unsigned) = nullptr;
  int (*retain_context)(void**, int) = nullptr;
  int (*set_context)(void*) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*unload)(void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*to_device)(Address, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, Address, std::size_t) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*synchronize)() = nullptr;
  void* context = nullptr;

  template <class Function>
  static bool bind(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
  bool open() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    return library != nullptr && bind(library, "cuInit", init) &&
           bind(library, "cuDevicePrimaryCtxRetain", retain_context) && bind(library, "cuCtxSetCurrent", set_context) &&
           bind(library, "cuModuleLoadData", load) && bind(library, "cuModuleUnload", unload) &&
           bind(library, "cuModuleGetFunction", function) && bind(library, "cuMemAlloc_v2", allocate) &&
           bind(library, "cuMemcpyHtoD_v2", to_device) && bind(library, "cuMemcpyDtoH_v2", to_host) &&
           bind(library, "cuLaunchKernel", launch) && bind(library, "cuCtxSynchronize", synchronize) && init(0) == 0 &&
           retain_context(&context, 0) == 0;
  }
};

struct Shape {
  std::string text;  // of the instruction, without widths
  int destination_bytes;
  int source_bytes[4] = {0, 0, 0, 0};
};

int natural_bytes(PtxType type) { return type == PtxType::pred ? 1 : std::max(bytes_of(type), 2); }

Shape shape_of(const std::string& name, const LaneForm& form) {
  Shape shape{name.substr(0, name.find('@')), natural_bytes(form.destination)};
  for (std::size_t i = 0; i < form.sources.size() && i < 4; ++i) shape.source_bytes[i] = natural_bytes(form.sources[i]);
  const std::string widths = name.substr(std::min(name.find('@'), name.size()));
  if (widths.find("d4") != std::string::npos) shape.destination_bytes = 4;
  if (widths.find("d8") != std::string::npos) shape.destination_bytes = 8;
  if (widths.find("s8") != std::string::npos) shape.source_bytes[0] = 8;
  if (shape.text.starts_with("min3.") || shape.text.starts_with("max3."))
    shape.text.erase(3, 1);  // min3.f32 is min.f32 with three sources
  return shape;
}

// setp of single halves has one result only.
bool has_two_predicates(const std::string& text) {
  return text.starts_with("setp") && !text.ends_with(".f16") && !text.ends_with(".bf16");
}

// Operands are 64-bit words in memory; table: the lookup table of lop3, an immediate in PTX.
std::string kernel_text(const Shape& shape, const LaneForm& form, unsigned table) {
  std::string ptx =
      ".version 8.8\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
      ".reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .pred %p<8>;\n"
      "mov.u32 %r10, %ctaid.x; mov.u32 %r11, %tid.x; mad.lo.u32 %r10, %r10, 128, %r11;\n"
      "ld.param.u64 %d10, [in]; ld.param.u64 %d11, [out]; cvta.to.global.u64 %d10, %d10; cvta.to.global.u64 %d11, "
      "%d11;\n"
      "mad.wide.u32 %d10, %r10, 48, %d10; mad.wide.u32 %d11, %r10, 24, %d11;\n"
      "ld.global.u64 %d0, [%d10]; ld.global.u64 %d1, [%d10+8]; ld.global.u64 %d2, [%d10+16]; ld.global.u64 %d3, "
      "[%d10+24];\n"
      "ld.global.u64 %d4, [%d10+32]; ld.global.u64 %d5, [%d10+40]; setp.ne.u64 %p0, %d4, 0; setp.ne.u64 %p1, %d5, 0;\n"
      "cvt.u32.u64 %r0, %d0; cvt.u32.u64 %r1, %d1; cvt.u32.u64 %r2, %d2; cvt.u32.u64 %r3, %d3;\n"
      "cvt.u16.u64 %h0, %d0; cvt.u16.u64 %h1, %d1; cvt.u16.u64 %h2, %d2; cvt.u16.u64 %h3, %d3;\n"
      "mov.u64 %d6, 0; mov.u64 %d7, 0; mov.u64 %d8, 0; setp.ne.u64 %p2, %d6, 0; setp.ne.u64 %p3, %d6, 0;\n";
  auto reg = [](int bytes, int index) {
    return (bytes == 2 ? "%h" : bytes == 4 ? "%r" : "%d") + std::to_string(index);
  };
  if (form.carry_in) ptx += "cvt.u32.u64 %r12, %d4; add.cc.u32 %r12, %r12, 0xffffffff;\n";
  // A subtraction's borrow is the complement of what an addition would carry.
  if (form.carry_in && shape.text.starts_with("subc")) ptx += "cvt.u32.u64 %r12, %d4; sub.cc.u32 %r12, 0, %r12;\n";
  ptx += shape.text + " ";
  const bool two = has_two_predicates(shape.text);
  ptx += form.destination == PtxType::pred ? (two ? "%p2|%p3" : "%p2")
                                           : reg(shape.destination_bytes, 6) + (form.predicate_result ? "|%p2" : "");
  int predicate = 0;
  for (std::size_t i = 0; i < form.sources.size(); ++i) {
    const bool is_table = shape.text.starts_with("lop3") && i == 3;
    ptx += ", " + (is_table                           ? std::to_string(table)
                   : form.sources[i] == PtxType::pred ? "%p" + std::to_string(predicate++)
                                                      : reg(shape.source_bytes[i], static_cast<int>(i)));
  }
  ptx += ";\n";
  if (form.carry_out) {
    ptx += shape.text.starts_with("sub") ? "subc.u32 %r13, 0, 0; setp.ne.u32 %p2, %r13, 0;\n"
                                         : "addc.u32 %r13, 0, 0; setp.ne.u32 %p2, %r13, 0;\n";
  }
  if (form.destination != PtxType::pred && shape.destination_bytes < 8)
    ptx += (shape.destination_bytes == 2 ? "cvt.u64.u16 %d6, %h6;\n" : "cvt.u64.u32 %d6, %r6;\n");
  ptx +=
      "selp.u64 %d7, 1, 0, %p2; selp.u64 %d8, 1, 0, %p3;\n"
      "st.global.u64 [%d11], %d6; st.global.u64 [%d11+8], %d7; st.global.u64 [%d11+16], %d8; ret;\n}\n";
  return ptx;
}

// How far apart two numbers of the same format are, in units in the last place; bit patterns of one sign are ordered.
double distance(PtxType type, std::uint64_t a, std::uint64_t b) {
  auto one = [](int bits, std::uint64_t x, std::uint64_t y) {
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    auto ordered = [&](std::uint64_t v) {
      return (v & sign) != 0 ? -static_cast<double>(v & (sign - 1)) : static_cast<double>(v & (sign - 1));
    };
    return std::abs(ordered(x) - ordered(y));
  };
  if (type == PtxType::f16x2 || type == PtxType::bf16x2)
    return std::max(one(16, a & 0xffff, b & 0xffff), one(16, a >> 16, b >> 16));
  return one(8 * bytes_of(type), a, b);
}

// The approximate functions may differ, by what PTX allows them.
double allowed_distance(const std::string& name) {
  if (name.find(".approx") == std::string::npos && !name.starts_with("div.full")) return 0;
  if (name.find("f64") != std::string::npos) return name.find("ftz") != std::string::npos ? 0x1p33 * 4 : 16;
  if (name.starts_with("tanh")) return name.ends_with("f32") ? 8192 : 2;
  if (name.starts_with("sin") || name.starts_with("cos") || name.starts_with("lg2"))
    return -1;  // absolute: checked apart
  return 4;
}

struct Difference {
  int count = 0;
  double worst = 0;
  std::string first;
};

constexpr int warps = 128;

Difference compare(Driver& driver, const std::string& name, Driver::Address in, Driver::Address out, bool& known) {
  const LaneForm& form = *find_lane_form(name, best_vector_unit());
  const Shape shape = shape_of(name, form);
  std::mt19937_64 random(std::hash<std::string>{}(name));
  const unsigned table = static_cast<unsigned>(random() & 0xff);
  void* module = nullptr;
  known = driver.load(&module, kernel_text(shape, form, table).c_str()) == 0;
  if (!known) return {};
  void* function = nullptr;
  EXPECT_EQ(driver.function(&function, module, "k"), 0);

  std::vector<LaneSample> samples;
  std::vector<std::uint64_t> words;
  for (int warp = 0; warp < warps; ++warp) {
    LaneSample sample = make_sample(form, random);
    auto type_of = [&](std::size_t i) { return i == 0 && shape.source_bytes[0] == 8 ? PtxType::u64 : form.sources[i]; };
    if (shape.text.starts_with("lop3")) {
      for (int lane = 0; lane < 32; ++lane) set_lane_value(sample.source[3], PtxType::b32, lane, table);
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) {
        words.push_back(i < form.sources.size() && form.sources[i] != PtxType::pred
                            ? lane_value(sample.source[i], type_of(i), lane)
                            : 0);
      }
      words.push_back((sample.predicate_in >> lane) & 1);
      words.push_back((sample.predicate_in_other >> lane) & 1);
    }
    samples.push_back(sample);
  }
  std::vector<std::uint64_t> results(32 * warps * 3);
  unsigned n = 32 * warps;
  void* parameters[] = {&in, &out, &n};
  EXPECT_EQ(driver.to_device(in, words.data(), words.size() * 8), 0);
  EXPECT_EQ(driver.launch(function, 32 * warps / 128, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr), 0);
  EXPECT_EQ(driver.synchronize(), 0);
  EXPECT_EQ(driver.to_host(results.data(), out, results.size() * 8), 0);
  driver.unload(module);

  Difference difference;
  for (int warp = 0; warp < warps; ++warp) {
    LaneSample& sample = samples[static_cast<std::size_t>(warp)];
    run_sample(form, sample, 0xffffffffu);
    for (int lane = 0; lane < 32; ++lane) {
      const std::uint64_t* actual = &results[static_cast<std::size_t>(3 * (32 * warp + lane))];
      std::uint64_t expected[3] = {0, 0, 0};
      if (form.destination != PtxType::pred) {
        expected[0] = lane_value(sample.destination, shape.destination_bytes == 8 ? PtxType::u64 : PtxType::u32, lane);
      }
      if (form.destination == PtxType::pred || form.carry_out || form.predicate_result)
        expected[1] = (sample.predicate_out >> lane) & 1;
      if (has_two_predicates(shape.text)) expected[2] = (sample.predicate_out_other >> lane) & 1;
      if (actual[0] == expected[0] && actual[1] == expected[1] && actual[2] == expected[2]) continue;
      const double apart =
          distance(form.destination == PtxType::pred ? PtxType::u32 : form.destination, actual[0], expected[0]);
      double allowed = allowed_distance(name);
      if (allowed < 0) {  // 2^-20 in absolute terms, PTX ISA 9.0, sin, cos and lg2
        const float a = std::bit_cast<float>(static_cast<std::uint32_t>(actual[0])),
                    e = std::bit_cast<float>(static_cast<std::uint32_t>(expected[0]));
        allowed = std::abs(a - e) <= 0x1p-20f ? apart : 2;
      }
      difference.worst = std::max(difference.worst, apart);
      if (apart <= allowed && actual[1] == expected[1] && actual[2] == expected[2]) continue;
      if (difference.count++ > 11) continue;
      char line[400];
      const std::uint64_t* word = &words[static_cast<std::size_t>(6 * (32 * warp + lane))];
      std::snprintf(line, sizeof line, "   in %llx %llx %llx %llx p%llu%llu: GPU %llx %llu %llu, here %llx %llu %llu\n",
                    static_cast<unsigned long long>(word[0]), static_cast<unsigned long long>(word[1]),
                    static_cast<unsigned long long>(word[2]), static_cast<unsigned long long>(word[3]),
                    static_cast<unsigned long long>(word[4]), static_cast<unsigned long long>(word[5]),
                    static_cast<unsigned long long>(actual[0]), static_cast<unsigned long long>(actual[1]),
                    static_cast<unsigned long long>(actual[2]), static_cast<unsigned long long>(expected[0]),
                    static_cast<unsigned long long>(expected[1]), static_cast<unsigned long long>(expected[2]));
      difference.first += line;
    }
  }
  return difference;
}

TEST(LaneHardwareSlow, EveryFormAsOnTheGpu) {
  Driver driver;
  if (!driver.open()) GTEST_SKIP() << "no NVIDIA GPU here";
  const std::vector<std::string> names = supported_lane_forms();
  std::atomic<std::size_t> next = 0;
  std::atomic<int> unknown = 0, same = 0;
  std::mutex mutex;
  std::map<std::string, Difference> different;
  std::vector<std::string> unknown_names;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      ASSERT_EQ(driver.set_context(driver.context), 0);
      Driver::Address in = 0, out = 0;
      ASSERT_EQ(driver.allocate(&in, 32 * warps * 48), 0);
      ASSERT_EQ(driver.allocate(&out, 32 * warps * 24), 0);
      for (std::size_t i = next++; i < names.size(); i = next++) {
        bool known = false;
        Difference difference = compare(driver, names[i], in, out, known);
        const std::lock_guard lock(mutex);
        if (!known)
          ++unknown, unknown_names.push_back(names[i]);
        else if (difference.count == 0)
          ++same;
        if (difference.count > 0 || difference.worst > 0) different[names[i]] = std::move(difference);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d forms agree, %d are not known to this GPU\n", same.load(), unknown.load());
  std::sort(unknown_names.begin(), unknown_names.end());
  for (const std::string& name : unknown_names) std::printf("not on this GPU: %s\n", name.c_str());
  for (const auto& [name, difference] : different) {
    std::printf("%s: %d of %d differ, at most %g units in the last place\n%s", name.c_str(), difference.count,
                32 * warps, difference.worst, difference.first.c_str());
    EXPECT_EQ(difference.count, 0) << name;
  }
}

}  // namespace
}  // namespace kw
