#include "kernel/emulate/lane_operations.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/check.h"
#include "kernel/emulate/lane_table.h"

namespace kw {
namespace {

// Types keep their order (cvt.f32.f16 is not cvt.f16.f32); everything else is sorted, so that .sat.ftz finds .ftz.sat.
bool is_type(std::string_view modifier) {
  static constexpr std::array<std::string_view, 13> beyond_registers = {
      "u16x2", "s16x2", "f32x2", "e4m3x2", "e5m2x2", "u4", "s4", "u2", "s2", "u8x4", "s8x4", "b1", "b4"};
  return ptx_type_from_name(modifier).has_value() ||
         std::find(beyond_registers.begin(), beyond_registers.end(), modifier) != beyond_registers.end();
}

std::string key_of(std::string_view opcode, std::vector<std::string_view> modifiers) {
  const auto types =
      std::stable_partition(modifiers.begin(), modifiers.end(), [](std::string_view m) { return !is_type(m); });
  std::sort(modifiers.begin(), types);
  std::string key(opcode);
  for (const std::string_view modifier : modifiers) {
    key += '.';
    key += modifier;
  }
  return key;
}

std::string key_of(std::string_view form) {
  const std::string_view widths = form.substr(std::min(form.find('@'), form.size()));
  form.remove_suffix(widths.size());
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = form.find('.');
    parts.push_back(form.substr(0, dot));
    if (dot == std::string_view::npos) break;
    form.remove_prefix(dot + 1);
  }
  const std::string_view opcode = parts.front();
  parts.erase(parts.begin());
  return key_of(opcode, std::move(parts)).append(widths);
}

// "add[.rn].{u32|s32}": calls `each` with add.u32, add.s32, add.rn.u32, add.rn.s32.
template <class Each>
void expand(const std::string& pattern, const Each& each) {
  const std::size_t open = pattern.find_first_of("[{");
  if (open == std::string::npos) return each(pattern);
  const bool optional = pattern[open] == '[';
  const std::size_t close = pattern.find(optional ? ']' : '}', open);
  KW_CHECK(close != std::string::npos);
  const std::string before = pattern.substr(0, open), after = pattern.substr(close + 1);
  if (optional) expand(before + after, each);
  for (std::size_t begin = open + 1; begin <= close;) {
    const std::size_t end = std::min(pattern.find('|', begin), close);
    expand(before + pattern.substr(begin, end - begin) + after, each);
    begin = end + 1;
  }
}

struct Forms {
  std::unordered_map<std::string, LaneForm> by_key;
  std::vector<std::string> names;

  void add(const char* pattern, LaneOperation run, const LaneSignature& signature) {
    LaneForm form;
    form.run = run;
    form.destination = signature.destination;
    for (const PtxType type : signature.source) {
      if (type != PtxType::none) form.sources.push_back(type);
    }
    form.carry_in = signature.carry_in;
    form.carry_out = signature.carry_out;
    form.predicate_result = signature.predicate_result;
    expand(pattern, [&](const std::string& name) {
      const bool fresh = by_key.emplace(key_of(name), form).second;
      KW_CHECK(fresh);  // two rows name the same form
      names.push_back(name);
    });
  }
};

Forms make_forms(VectorUnit unit) {
  Forms forms;
  const LaneTable table{&forms,
                        [](void* context, const char* pattern, LaneOperation run, const LaneSignature& signature) {
                          static_cast<Forms*>(context)->add(pattern, run, signature);
                        }};
#define KW_LANE_ADD(family) add_##family##_rows(table);
  switch (unit) {
    case VectorUnit::portable: {
      using namespace lanes_portable;
      KW_LANE_FAMILIES(KW_LANE_ADD)
      break;
    }
#ifdef KW_HAS_AVX2
    case VectorUnit::avx2: {
      using namespace lanes_avx2;
      KW_LANE_FAMILIES(KW_LANE_ADD)
      break;
    }
#endif
#ifdef KW_HAS_AVX512
    case VectorUnit::avx512: {
      using namespace lanes_avx512;
      KW_LANE_FAMILIES(KW_LANE_ADD)
      break;
    }
#endif
    default:
      break;  // this program was built without it
  }
#undef KW_LANE_ADD
  return forms;
}

int register_bytes(PtxType type) { return std::max(bytes_of(type), 2); }

#ifdef __x86_64__
bool has_f16c() {  // __builtin_cpu_supports of GCC 12 and clang 14 does not know the name
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

// Whether this machine can run what was compiled for the unit.
bool can_run(VectorUnit unit) {
#ifdef __x86_64__
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (unit == VectorUnit::avx2) return avx2;
  if (unit == VectorUnit::avx512) return avx512;
#endif
  return unit == VectorUnit::portable;
}

// A table only holds addresses, but what fills it is compiled for the unit as well: one that this machine cannot run,
// or that was not compiled, is empty.
const Forms& forms_of(VectorUnit unit) {
  static const std::array<Forms, 3> forms = [] {
    std::array<Forms, 3> made;
    for (const VectorUnit one : available_vector_units()) made[static_cast<std::size_t>(one)] = make_forms(one);
    return made;
  }();
  return forms[static_cast<std::size_t>(unit)];
}

const LaneForm* find_key(const std::string& key, VectorUnit unit) {
  const Forms& forms = forms_of(unit);
  const auto found = forms.by_key.find(key);
  return found == forms.by_key.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<VectorUnit> compiled_vector_units() {
  std::vector<VectorUnit> units = {VectorUnit::portable};
#ifdef KW_HAS_AVX2
  units.push_back(VectorUnit::avx2);
#endif
#ifdef KW_HAS_AVX512
  units.push_back(VectorUnit::avx512);
#endif
  return units;
}

std::vector<VectorUnit> available_vector_units() {
  std::vector<VectorUnit> units = compiled_vector_units();
  std::erase_if(units, [](VectorUnit unit) { return !can_run(unit); });
  return units;
}

VectorUnit best_vector_unit() {
#ifdef KW_SANITIZED
  return VectorUnit::portable;  // the only one that is instrumented
#else
  static const VectorUnit best = available_vector_units().back();
  return best;
#endif
}

std::string_view name_of(VectorUnit unit) {
  static constexpr std::array<std::string_view, 3> names = {"portable", "avx2", "avx512"};
  return names[static_cast<std::size_t>(unit)];
}

const LaneForm* find_lane_form(const PtxInstruction& instruction, VectorUnit unit, LaneWidths widths) {
  std::string_view opcode = instruction.opcode;
  if (instruction.operands.size() == 4 && (opcode == "min" || opcode == "max"))
    opcode = opcode == "min" ? "min3" : "max3";
  std::string key = key_of(opcode, {instruction.modifiers.begin(), instruction.modifiers.end()});
  const LaneForm* form = find_key(key, unit);
  if (form == nullptr || opcode != "cvt") return form;
  // A wider register only matters where its lanes are larger or its sign reaches further.
  const bool sign_reaches = form->destination == PtxType::s8 || form->destination == PtxType::s16;
  const bool wide_destination =
      widths.destination_bytes > register_bytes(form->destination) && (sign_reaches || widths.destination_bytes == 8);
  const bool wide_source = widths.source_bytes == 8 && bytes_of(form->sources[0]) < 8;
  if (!wide_destination && !wide_source) return form;
  key += '@';
  if (wide_destination) key.append("d").append(std::to_string(widths.destination_bytes));
  if (wide_source) key.append("s8");
  return find_key(key, unit);
}

const LaneForm* find_lane_form(std::string_view form, VectorUnit unit) { return find_key(key_of(form), unit); }

std::vector<std::string> supported_lane_forms() {
  std::vector<std::string> names = forms_of(VectorUnit::portable).names;
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace kw
