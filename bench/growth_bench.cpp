// How the time of our readers grows with what they read: the exponent between a text and one four times as long, of
// texts that have made some reader quadratic. 1 is linear, 2 quadratic. Processor time, the least of several runs, both
// lengths in turns in one run. Ends with 1 if anything grows faster than it may.
//   build/src/agents/agent/growth_bench [--only READER]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "agents/agent/answer.h"
#include "agents/agent/repeated_answers.h"
#include "kernel/emulate/growing_ptx.h"
#include "kernel/emulate/ptx_parser.h"
#include "kernel/source/kernel_file.h"
#include "kernel/source/lexer.h"
#include "kernel/source/pitfalls.h"
#include "kernel/source/repeated_text.h"
#include "kernel/source/risk.h"
#include "kernel/source/rules.h"
#include "kernel/source/sanitise.h"

namespace {

using namespace kw;

// Of a text four times as long: 1.8 is 12 times the time, a square 16 times. What leaves the caches takes up to 1.7 on
// a busy machine; what takes less than a millisecond says nothing.
constexpr double most_exponent = 1.8;
constexpr double least_seconds = 1e-3;

double cpu_seconds(const std::function<void()>& work) {
  timespec begin{}, end{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  work();
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e9;
}

struct Growing {
  std::string name;
  std::function<void()> small, large;
};

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '.';
  return text.substr(0, 32);
}

// Whether nothing of it grows too fast.
bool measure(const std::string& reader, const std::vector<Growing>& cases) {
  bool fine = true;
  double worst = 0, slowest = 0;
  std::string worst_name, slowest_name;
  for (const Growing& one : cases) {
    double small = 1e9, large = 1e9;
    for (int round = 0; round < 3; ++round) {
      small = std::min(small, cpu_seconds(one.small));
      large = std::min(large, cpu_seconds(one.large));
    }
    if (large > slowest) slowest = large, slowest_name = one.name;
    if (small < least_seconds) continue;
    const double exponent = std::log(large / small) / std::log(4.0);
    if (exponent > worst) worst = exponent, worst_name = one.name;
    if (exponent > most_exponent) {
      fine = false;
      fmt::print("  {}: '{}' takes {:.1f} ms, four times as long {:.1f} ms\n", reader, one_line(one.name), 1e3 * small,
                 1e3 * large);
    }
  }
  fmt::print("{:<14} {:>3} texts   steepest {:.2f} ({})   slowest {:.1f} ms ({})\n", reader, cases.size(), worst,
             one_line(worst_name), 1e3 * slowest, one_line(slowest_name));
  return fine;
}

std::vector<Growing> cases_of(const std::vector<RepeatedText>& texts, std::size_t bytes,
                              const std::function<void(const std::string&)>& read) {
  std::vector<Growing> cases;
  for (const RepeatedText& repeated : texts) {
    const std::size_t head = repeated.head.size();
    // What does not grow is no part of the question.
    const std::string small = repeated.of_bytes(head + bytes / 4), large = repeated.of_bytes(head + bytes);
    cases.push_back({repeated.name, [=] { read(small); }, [=] { read(large); }});
  }
  return cases;
}

// Every reader, or the one that is named; whether none grows faster than it may.
bool measure_readers(const std::string& only) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  std::vector<Growing> ptx;
  for (const GrowingPtx& shape : growing_ptx()) {
    const std::string small = shape.of_pieces(60'000), large = shape.of_pieces(240'000);
    ptx.push_back(
        {shape.name, [=] { static_cast<void>(parse_ptx(small)); }, [=] { static_cast<void>(parse_ptx(large)); }});
  }
  const auto statements = repeated_statements();
  bool fine = true;
  const auto run = [&](const std::string& reader, const std::vector<Growing>& cases) {
    if (only.empty() || only == reader) fine = measure(reader, cases) && fine;
  };
  run("lexer", cases_of(repeated_tokens(), mib, [](const std::string& text) { lex(text, "a.cu"); }));
  run("kernel_file", cases_of(repeated_declarations(), 900'000, [](const std::string& text) {
        static_cast<void>(read_kernel_file(text, "a.cu"));
        static_cast<void>(read_kernel_file("void launch(float* y) { " + text + " }", "a.cu"));
      }));
  run("rules", cases_of(statements, mib, [](const std::string& text) { check_rules(text, "k.cu"); }));
  run("pitfalls", cases_of(statements, mib / 5, [](const std::string& text) { find_pitfalls(text, "k.cu"); }));
  run("risk", cases_of(statements, mib, [](const std::string& text) { assess_risk(text, "k.cu"); }));
  run("sanitise", cases_of(statements, mib, [](const std::string& text) { sanitise(text); }));
  run("answer", cases_of(repeated_answers(), AnswerLimits{}.answer_bytes,
                         [](const std::string& text) { static_cast<void>(parse_answer(text)); }));
  run("ptx", ptx);
  fmt::print("{}\n", fine ? "nothing grows faster than it may" : "SOMETHING GROWS TOO FAST");
  return fine;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return measure_readers(argc > 2 && std::strcmp(argv[1], "--only") == 0 ? argv[2] : "") ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "growth_bench: %s\n", error.what());
    return 1;
  }
}
