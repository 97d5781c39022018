#include "kernel/emulate/decode_forms.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "kernel/emulate/lane_operations.h"

namespace kw {
namespace {

#define KW_ORDER "weak|volatile|relaxed|acquire|release|mmio? cta|cluster|gpu|sys?"
#define KW_CACHE                                                                                                \
  "ca|cg|cs|lu|cv|wb|wt? L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? " \
  "L2::64B|L2::128B|L2::256B?"
#define KW_TYPES "b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64"
#define KW_MMA_INPUT "f16|bf16|tf32|f64|u8|s8"
#define KW_MMA_TYPES "f16|f32|s32|f64 " KW_MMA_INPUT " " KW_MMA_INPUT " f16|f32|s32|f64"
#define KW_WMMA_SHAPES "m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k4"

// Groups of modifiers are separated by spaces; `?`: the group may be missing.
constexpr struct {
  const char* opcode;
  const char* groups;
} table[] = {
    {"mov", "b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64|pred"},
    {"cvta", "to? global|shared|shared::cta|local|param|param::entry|const u64"},
    {"isspacep", "global|shared|shared::cta|local|param|param::entry"},
    {"ld", KW_ORDER " global|shared|shared::cta|local|const|param|param::entry|param::func? nc? " KW_CACHE
                    " v2|v4|v8? " KW_TYPES},
    {"ldu", "global? v2|v4? " KW_TYPES},
    {"st", KW_ORDER " global|shared|shared::cta|local|param|param::func? " KW_CACHE " v2|v4|v8? " KW_TYPES},
    {"atom",
     "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? "
     "add|min|max|exch|cas|and|or|xor|inc|dec noftz? b16|f16|bf16|f16x2|bf16x2|b32|u32|s32|f32|b64|u64|s64|f64"},
    {"red",
     "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta? add|min|max|and|or|xor|inc|dec noftz? "
     "f16|bf16|f16x2|bf16x2|b32|u32|s32|f32|b64|u64|s64|f64"},
    {"cp", "async ca|cg shared|shared::cta global L2::64B|L2::128B|L2::256B?"},
    {"cp", "async commit_group|wait_group|wait_all"},
    {"prefetch", "global|local? L1|L2|L2::evict_last|L2::evict_normal"},
    {"prefetchu", "L1"},
    {"discard", "global? L2"},
    {"applypriority", "global? L2::evict_normal"},
    {"nanosleep", "u32"},
    {"pmevent", "mask?"},
    {"griddepcontrol", "launch_dependents|wait"},
    {"bra", "uni?"},
    {"brx", "idx uni?"},
    {"call", "uni?"},
    {"ret", "uni?"},
    {"exit", ""},
    {"trap", ""},
    {"brkpt", ""},
    {"bar", "cta? sync|arrive"},
    {"bar", "cta? red popc u32"},
    {"bar", "cta? red and|or pred"},
    {"bar", "warp sync"},
    {"barrier", "cta? sync|arrive aligned?"},
    {"barrier", "cta? red popc aligned? u32"},
    {"barrier", "cta? red and|or aligned? pred"},
    {"membar", "cta|gl|sys"},
    {"fence", "sc|acq_rel|acquire|release? cta|cluster|gpu|sys"},
    {"fence", "proxy alias|async global|shared::cta?"},
    {"shfl", "sync up|down|bfly|idx b32"},
    {"vote", "sync all|any|uni pred"},
    {"vote", "sync ballot b32"},
    {"match", "any|all sync b32|b64"},
    {"redux", "sync add|min|max u32|s32"},
    {"redux", "sync and|or|xor b32"},
    {"activemask", "b32"},
    {"elect", "sync"},
    {"ldmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16"},
    {"stmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16"},
    {"mma", "sync aligned m8n8k4|m8n8k16|m16n8k4|m16n8k8|m16n8k16|m16n8k32 row col satfinite? " KW_MMA_TYPES},
    {"wmma", "load a|b|c sync aligned row|col " KW_WMMA_SHAPES " global|shared|shared::cta? " KW_MMA_INPUT "|f32|s32"},
    {"wmma", "store d sync aligned row|col " KW_WMMA_SHAPES " global|shared|shared::cta? f16|f32|f64|s32"},
    // Of halves the types of the factors are not written.
    {"wmma", "mma sync aligned row|col row|col " KW_WMMA_SHAPES " f16|f32 f16|f32"},
    {"wmma", "mma sync aligned row|col row|col " KW_WMMA_SHAPES " " KW_MMA_TYPES " satfinite?"},
};

std::vector<InstructionForms> read_table() {
  std::vector<InstructionForms> all;
  for (const auto& row : table) {
    InstructionForms forms;
    forms.opcode = row.opcode;
    std::istringstream words(row.groups);
    for (std::string word; words >> word;) {
      ModifierGroup group;
      group.optional = word.back() == '?';
      if (group.optional) word.pop_back();
      std::istringstream choices(word);
      for (std::string choice; std::getline(choices, choice, '|');) group.choices.push_back(choice);
      forms.groups.push_back(std::move(group));
    }
    all.push_back(std::move(forms));
  }
  return all;
}

bool matches(const InstructionForms& forms, const std::vector<std::string>& modifiers) {
  std::vector<bool> used(forms.groups.size(), false);
  for (const std::string& modifier : modifiers) {
    // In order, so that a type takes the first place that is free: .f16.f16 of a matrix product are two operands.
    std::size_t i = 0;
    while (i < used.size() && (used[i] || std::find(forms.groups[i].choices.begin(), forms.groups[i].choices.end(),
                                                    modifier) == forms.groups[i].choices.end()))
      ++i;
    if (i == used.size()) return false;
    used[i] = true;
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i] && !forms.groups[i].optional) return false;
  return true;
}

std::string choice_of(const std::vector<std::string>& choices, bool optional) {
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : "|") + choice;
  if (optional) return choices.empty() ? "" : "[" + text + "]";
  return choices.size() > 1 ? "{" + text + "}" : text;
}

std::string pattern_of(const InstructionForms& forms) {
  std::string text = forms.opcode;
  for (const ModifierGroup& group : forms.groups) {
    std::vector<std::string> choices;
    for (const std::string& choice : group.choices) choices.push_back("." + choice);
    text += choice_of(choices, group.optional);
  }
  return text;
}

// Forms of one opcode as patterns. Those that differ in their last modifier alone share a pattern, and so do beginnings
// that go with the same last modifiers: together the patterns say exactly the forms.
std::vector<std::string> lane_patterns(const std::string& opcode, const std::vector<std::string>& forms) {
  std::map<std::string, std::vector<std::string>> last_by_beginning;
  for (const std::string& form : forms) {
    const std::size_t dot = std::max(form.rfind('.'), opcode.size());
    last_by_beginning[form.substr(opcode.size(), dot - opcode.size())].push_back(form.substr(dot));
  }
  std::map<std::vector<std::string>, std::vector<std::string>> beginnings_by_last;
  for (const auto& [beginning, last] : last_by_beginning) beginnings_by_last[last].push_back(beginning);
  std::vector<std::string> patterns;
  for (auto [last, beginnings] : beginnings_by_last) {
    const auto none = std::find(beginnings.begin(), beginnings.end(), "");
    const bool optional = none != beginnings.end();
    if (optional) beginnings.erase(none);
    patterns.push_back(opcode + choice_of(beginnings, optional) + choice_of(last, false));
  }
  return patterns;
}

// Broken between choices where it is too long for a page.
std::string wrapped(std::string pattern) {
  constexpr std::size_t longest = 120;
  std::string text;
  while (pattern.size() > longest) {
    const std::size_t end = pattern.find_last_of("[{|", longest);
    if (end == std::string::npos || end == 0) break;
    text += pattern.substr(0, end) + "\n    ";
    pattern.erase(0, end);
  }
  return text + pattern + "\n";
}

}  // namespace

const std::vector<InstructionForms>& instruction_forms() {
  static const std::vector<InstructionForms> forms = read_table();
  return forms;
}

bool has_known_form(const PtxInstruction& instruction) {
  for (const InstructionForms& forms : instruction_forms())
    if (forms.opcode == instruction.opcode && matches(forms, instruction.modifiers)) return true;
  return false;
}

std::string supported_forms_page() {
  std::vector<std::string> lanes = supported_lane_forms();
  std::string text = fmt::format(
      "# PTX forms that the emulator knows\n\n"
      "Generated from the tables that the decoder uses (`src/kernel/emulate/decode_forms.cpp`, "
      "`src/kernel/emulate/lanes/`).\nA test fails when this page is out of date. Any other instruction ends a run "
      "with "
      "the verdict `unsupported` and its name.\n\n"
      "## Memory, control flow, exchange between lanes, matrices\n\n"
      "`[...]` may be left out, `{{a|b}}` is one of several; modifiers may come in any order.\n\n```\n");
  for (const InstructionForms& forms : instruction_forms()) text += wrapped(pattern_of(forms));
  text += fmt::format(
      "```\n\n## Registers to registers: {} forms\n\n"
      "`min3` and `max3` are the three-input forms; `@d8s8` are registers wider than the types (cvt alone), in "
      "bytes.\n\n```\n",
      lanes.size());
  std::map<std::string, std::vector<std::string>> by_opcode;
  for (const std::string& form : lanes) by_opcode[form.substr(0, form.find('.'))].push_back(form);
  for (const auto& [opcode, forms] : by_opcode)
    for (const std::string& pattern : lane_patterns(opcode, forms)) text += wrapped(pattern);
  return text + "```\n";
}

}  // namespace kw
