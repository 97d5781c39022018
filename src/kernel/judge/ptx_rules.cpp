#include "kernel/judge/ptx_rules.h"

#include <array>
#include <charconv>

namespace kw {
namespace {

struct ForbiddenWord {
  std::string_view word;
  std::string_view kind;
  std::string_view message;
};

constexpr std::array<ForbiddenWord, 13> forbidden{{
    {"%clock", "reads_timer", "the kernel reads a timer"},
    {"%clock_hi", "reads_timer", "the kernel reads a timer"},
    {"%clock64", "reads_timer", "the kernel reads a timer"},
    {"%globaltimer", "reads_timer", "the kernel reads a timer"},
    {"%globaltimer_lo", "reads_timer", "the kernel reads a timer"},
    {"%globaltimer_hi", "reads_timer", "the kernel reads a timer"},
    {"%smid", "reads_placement", "the kernel asks which multiprocessor it runs on"},
    {"%nsmid", "reads_placement", "the kernel asks how many multiprocessors there are"},
    {"%nwarpid", "reads_placement", "the kernel asks how many hardware warps there are"},
    {"%gridid", "reads_placement", "the kernel asks which launch it is"},
    {"%warpid", "reads_placement", "the kernel asks which hardware warp it is"},
    {"L2::cache_hint", "l2_persistence", "a cache policy can keep data in the L2 cache between launches"},
    {"createpolicy", "l2_persistence", "a cache policy can keep data in the L2 cache between launches"},
}};

bool continues_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The line of the last .loc before the position.
int line_before(std::string_view ptx, std::size_t position) {
  const std::size_t loc = ptx.rfind(".loc", position);
  if (loc == std::string_view::npos) return 0;
  std::size_t at = loc + 4;
  int numbers[2] = {0, 0};
  for (int& number : numbers) {
    while (at < ptx.size() && (ptx[at] == ' ' || ptx[at] == '\t')) ++at;
    const auto parsed = std::from_chars(ptx.data() + at, ptx.data() + ptx.size(), number);
    at = static_cast<std::size_t>(parsed.ptr - ptx.data());
  }
  return numbers[1];
}

}  // namespace

std::vector<VerdictFinding> check_ptx(std::string_view ptx) {
  std::vector<VerdictFinding> findings;
  for (const ForbiddenWord& each : forbidden) {
    for (std::size_t at = ptx.find(each.word); at != std::string_view::npos; at = ptx.find(each.word, at + 1)) {
      const std::size_t end = at + each.word.size();
      if (end < ptx.size() && continues_word(ptx[end])) continue;
      VerdictFinding finding;
      finding.kind = each.kind;
      finding.line = line_before(ptx, at);
      finding.message = std::string(each.message) + " (" + std::string(each.word) + ")";
      finding.advice = "A result may not depend on time or place; leave it out.";
      findings.push_back(std::move(finding));
      break;
    }
  }
  return findings;
}

}  // namespace kw
