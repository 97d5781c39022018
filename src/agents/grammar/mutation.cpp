#include "agents/grammar/mutation.h"

#include <algorithm>
#include <array>
#include <regex>

namespace kw {
namespace {

// A mistake is a place in the text, found by a pattern, and what stands there afterwards ($1 is what the pattern
// caught). Patterns of one kind are tried together.
struct Rule {
  std::string_view kind;
  const char* pattern;
  const char* replacement;
};

constexpr std::array rules{
    Rule{"guard_off_by_one", R"(if \((\w+) >= (\w+)\) return;)", "if ($1 > $2) return;"},
    Rule{"guard_off_by_one", R"(if \((\w+) < (\w+)\))", "if ($1 <= $2)"},
    Rule{"missing_guard", R"(\n *if \(\w+ >= [\w *]+\) return;)", ""},
    Rule{"loop_too_long", R"((for \(int \w+ = [^;]+; \w+) < )", "$1 <= "},
    Rule{"loop_starts_late", R"((for \(int \w+ = )0;)", "$011;"},
    Rule{"missing_barrier", R"(\n *__syncthreads\(\);[^\n]*)", ""},
    Rule{"wrong_sign", R"(( = [^;\n]*[\w\)\]]) \+ ([\w(]))", "$1 - $2"},
    Rule{"wrong_sign", R"((return [^;\n]*[\w\)\]]) \+ ([\w(]))", "$1 - $2"},
    Rule{"wrong_operator", R"(([\w\]\)]) \* ([\w(]+\[))", "$1 + $2"},
    Rule{"wrong_operator", R"(\+= )", "= "},
    Rule{"wrong_extreme", R"(fmaxf\()", "fminf("},
    Rule{"wrong_extreme", R"(fminf\()", "fmaxf("},
    Rule{"wrong_constant", R"((\d)\.(\d*[1-9])f)", "$1.0$2f"},
    Rule{"wrong_constant", R"(\b([1-9])\.0f)", "$1.5f"},
    Rule{"lost_minus", R"(expf\(-)", "expf("},
    Rule{"missing_semicolon", R"(;\n)", "\n"},
    Rule{"missing_brace", R"(\n *\}\n)", "\n"},
    Rule{"missing_declaration", R"(\n *(?:const )?(?:int|float) \w+ = [^;\n]+;)", ""},
    Rule{"misspelled_builtin", R"(threadIdx\.)", "threadidx."},
    Rule{"misspelled_builtin", R"(blockDim\.)", "blockdim."},
    Rule{"misspelled_function", R"(fmaxf\()", "fmax_f("},
    Rule{"misspelled_function", R"(expf\()", "exp_f("},
    Rule{"missing_cast", R"(__half2float\(([\w\[\] +*]+)\))", "$1"},
    Rule{"missing_cast", R"(__bfloat162float\(([\w\[\] +*]+)\))", "$1"},
    Rule{"missing_cast", R"(reinterpret_cast<(?:const )?\w+\*>\(([^)]*)\))", "($1)"},
    Rule{"rounded_down_grid", R"(\((\w[\w *]*) \+ \w+ - 1\) / )", "$1 / "},
    Rule{"rounded_down_grid", R"(\((\w[\w *]*) \+ \d+\) / )", "$1 / "},
    Rule{"swapped_launch", R"(<<<(\w+), (\w+), )", "<<<$2, $1, "},
    Rule{"small_grid", R"(<<<[^,<>]+, )", "<<<1, "},
    Rule{"swapped_indices", R"(\b(\w+) \* (\w+) \+ (\w+)\])", "$3 * $2 + $1]"},
    Rule{"wrong_stride", R"(\b(\w+) \* (\w+) \+ (\w+)\])", "$1 * $3 + $2]"},
    Rule{"swapped_arguments", R"((>>>\()(\w+), (\w+))", "$1$3, $2"},
    Rule{"missing_argument", R"((>>>\([^;\n]*), \w+\);)", "$1);"},
    Rule{"missing_include", R"(#include <[^>]*>\n)", ""},
    Rule{"wrong_axis", R"(threadIdx\.x)", "threadIdx.y"},
    Rule{"wrong_axis", R"(blockIdx\.x)", "blockIdx.y"},
    Rule{"wrong_axis", R"(blockIdx\.y)", "blockIdx.x"},
    Rule{"uninitialised", R"((float|int) (\w+) = 0(?:\.0f)?;)", "$1 $2;"},
    Rule{"wrong_start", R"(-FLT_MAX|-INFINITY|INT_MIN)", "0"},
    Rule{"lost_atomic", R"(atomicAdd\(&([^,]+), ([^;]+)\);)", "$1 += $2;"},
    Rule{"short_shuffle", R"(offset = 16)", "offset = 8"},
    Rule{"short_shuffle", R"(step < 32)", "step < 16"},
    Rule{"short_tree", R"((half = \w+ / )2;)", "$014;"},
    Rule{"small_shared", R"((__shared__ \w+ \w+\[)(\w+)\])", "$1$2 / 2]"},
    Rule{"narrow_accumulator", R"(float (\w+) = 0\.0f;)", "int $1 = 0;"},
    Rule{"wrong_vector_width", R"( / 4\b)", " / 2"},
    Rule{"wrong_vector_width", R"( \* 4 \+)", " * 2 +"},
    Rule{"lost_component", R"(\n *\w+\.w = [^;]+;)", ""},
    Rule{"repeated_component", R"((\w+)\.y)", "$1.x"},
    Rule{"missing_lead_thread", R"(if \((?:threadIdx\.x|lane|t|lane_id) == 0\) )", ""},
    Rule{"wrong_signature", R"((extern "C" void launch\()([^,]+), )", "$1"},
    Rule{"missing_global", R"(__global__ void)", "void"},
    Rule{"missing_device", R"(__device__ (?:__forceinline__ )?(\w+ \w+\())", "$1"},
};

// What every compiler finds at once is worth fewer examples than what only a run shows.
bool obvious(std::string_view kind) {
  constexpr std::array<std::string_view, 10> kinds{
      "missing_semicolon", "missing_brace",   "missing_declaration", "misspelled_builtin", "misspelled_function",
      "missing_include",   "wrong_signature", "missing_global",      "missing_device",     "missing_argument"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}
constexpr int subtle_weight = 3;

std::string apply(const std::string& text, const Rule& rule, Random& random) {
  const std::regex pattern(rule.pattern);
  std::vector<std::smatch> places(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
  if (places.empty()) return text;
  const auto& place = places[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(places.size()) - 1))];
  return text.substr(0, static_cast<std::size_t>(place.position())) + place.format(rule.replacement) +
         text.substr(static_cast<std::size_t>(place.position() + place.length()));
}

}  // namespace

std::vector<std::string_view> mutation_kinds() {
  std::vector<std::string_view> kinds;
  for (const Rule& rule : rules)
    if (std::find(kinds.begin(), kinds.end(), rule.kind) == kinds.end()) kinds.push_back(rule.kind);
  return kinds;
}

std::optional<Mutant> mutate(std::string_view kernel, std::string_view kind, Random& random) {
  const std::string text(kernel);
  std::vector<const Rule*> fitting;
  for (const Rule& rule : rules)
    if (rule.kind == kind && std::regex_search(text, std::regex(rule.pattern))) fitting.push_back(&rule);
  if (fitting.empty()) return std::nullopt;
  const auto at = random.integer(0, static_cast<std::int64_t>(fitting.size()) - 1);
  std::string changed = apply(text, *fitting[static_cast<std::size_t>(at)], random);
  if (changed == text) return std::nullopt;
  return Mutant{std::string(kind), std::move(changed)};
}

std::optional<Mutant> mutate(std::string_view kernel, Random& random) {
  std::vector<std::string_view> kinds;
  for (const std::string_view kind : mutation_kinds())
    kinds.insert(kinds.end(), obvious(kind) ? 1 : subtle_weight, kind);
  while (!kinds.empty()) {
    const auto at = random.integer(0, static_cast<std::int64_t>(kinds.size()) - 1);
    const std::string_view kind = kinds[static_cast<std::size_t>(at)];
    if (auto made = mutate(kernel, kind, random)) return made;
    std::erase(kinds, kind);
  }
  return std::nullopt;
}

}  // namespace kw
