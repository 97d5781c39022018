#include "kernel/emulate/ptx_parser.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "kernel/emulate/ptx_forms.h"
#include "kernel/emulate/ptx_parser_invariants.h"

namespace kw {
namespace {

using Kind = PtxOperand::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path samples = std::filesystem::path(KW_SOURCE_ROOT) / "tests/ptx";

PtxModule parsed(std::string_view text) {
  auto module = parse_ptx(text);
  EXPECT_TRUE(module.ok()) << to_string(module.error());
  if (!module.ok()) return {};
  EXPECT_EQ(broken_ptx_promise(*module), "");
  return std::move(module).value();
}

PtxModule sample(const char* name) {
  const auto text = read_file(samples / name);
  EXPECT_TRUE(text.ok());
  return text.ok() ? parsed(*text) : PtxModule{};
}

// The body of a kernel with the usual registers.
PtxFunction body_of(std::string_view body) {
  const std::string text =
      ".version 9.0\n.target sm_80\n.address_size 64\n.global .b32 g[4];\n.entry k(.param .u64 a)\n{\n"
      ".reg .pred %p<5>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .b16 %rs<9>;\n" +
      std::string(body) + "\n}\n";
  PtxModule module = parsed(text);
  const PtxFunction* kernel = module.find_function("k");
  return kernel ? *kernel : PtxFunction{};
}

PtxInstruction instruction_of(std::string_view text) {
  const PtxFunction kernel = body_of(text);
  return kernel.body.empty() ? PtxInstruction{} : kernel.body[0];
}

std::string register_name(const PtxFunction& function, const PtxOperand& operand) {
  return operand.index >= 0 ? function.registers[static_cast<std::size_t>(operand.index)].name : "";
}

TEST(PtxParser, ReadsTheHeaderAndTheSignature) {
  const PtxModule module = sample("syntax.ptx");
  EXPECT_EQ(module.version, "8.5");
  EXPECT_EQ(module.target, "sm_80");
  const PtxFunction* kernel = module.find_function("syntax");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->entry);
  EXPECT_THAT(kernel->max_threads, ElementsAre(128, 2, 1));
  EXPECT_EQ(kernel->min_blocks_per_sm, 2u);
  ASSERT_EQ(kernel->parameters.size(), 3u);
  EXPECT_EQ(kernel->parameters[0].type, PtxType::u64);
  EXPECT_EQ(kernel->parameters[0].alignment, 8u);  // .ptr .align 16 is about what it points at
  EXPECT_EQ(kernel->parameters[1].bytes, 24u);
  EXPECT_EQ(kernel->parameters[1].alignment, 8u);
  const PtxFunction* print = module.find_function("vprintf");
  ASSERT_NE(print, nullptr);
  EXPECT_TRUE(print->external);
  EXPECT_EQ(print->returns.size(), 1u);
  EXPECT_EQ(print->parameters.size(), 2u);
  const PtxFunction* twice = module.find_function("twice");
  ASSERT_NE(twice, nullptr);
  EXPECT_FALSE(twice->external);  // the definition took the prototype's place
  EXPECT_EQ(twice->body.size(), 4u);
  EXPECT_EQ(
      std::count_if(module.functions.begin(), module.functions.end(), [](const auto& f) { return f.name == "twice"; }),
      1);
}

TEST(PtxParser, ReadsInitialValues) {
  const PtxModule module = sample("syntax.ptx");
  const auto initial = [&](const char* name) {
    return module.find_variable(name) ? module.find_variable(name)->initial : "none";
  };
  EXPECT_EQ(initial("counter"), std::string("\x10\0\0\0", 4));
  EXPECT_EQ(initial("floats"), std::string("\0\0\x80\x3F\0\0\xC0\xBF\0\0\0\x40\0\0\xE0\x40", 16));
  EXPECT_EQ(initial("rows"), std::string("\1\2\0\4\5\6", 6));  // a short row is filled with zeros
  EXPECT_EQ(initial("open_ended"), std::string("\xFF\xFF\xFF\x01\x05\0", 6));
  EXPECT_EQ(module.find_variable("open_ended")->bytes, 6u);
  EXPECT_EQ(initial("wide"), std::string("\x18\x2D\x44\x54\xFB\x21\x09\x40", 8));
  EXPECT_EQ(module.find_variable("quad")->bytes, 16u);
  EXPECT_EQ(module.find_variable("quad")->alignment, 16u);
  EXPECT_EQ(module.find_variable("dynamic")->bytes, 0u);
  EXPECT_TRUE(module.find_variable("dynamic")->external);

  const PtxVariable& table = *module.find_variable("table");
  ASSERT_EQ(table.relocations.size(), 3u);
  EXPECT_EQ(table.relocations[0].symbol, "twice");
  EXPECT_EQ(table.relocations[1].offset, 8u);
  EXPECT_TRUE(table.relocations[1].generic);
  EXPECT_EQ(table.relocations[1].addend, 4);
  EXPECT_FALSE(table.relocations[2].generic);
  EXPECT_EQ(table.relocations[2].addend, 8);
  EXPECT_EQ(module.find_variable("address_bytes")->relocations[1].mask, 0xFF00u);
}

TEST(PtxParser, KeepsBigVariablesSmall) {
  const PtxModule module = parsed(".version 9.0\n.global .b8 huge[1099511627776];\n.global .b8 x[1000000] = {1};");
  EXPECT_EQ(module.variables[0].bytes, std::uint64_t{1} << 40);
  EXPECT_EQ(module.variables[1].initial.size(), 1u);
}

TEST(PtxParser, ReadsOperands) {
  const PtxFunction kernel = body_of("setp.lt.and.s32 %p1|%p2, %r3, -7, !%p4;");
  const PtxInstruction& setp = kernel.body[0];
  EXPECT_EQ(setp.form(), "setp.lt.and.s32");
  EXPECT_EQ(setp.type(), PtxType::s32);
  EXPECT_TRUE(setp.has("and"));
  ASSERT_EQ(setp.operands.size(), 5u);
  EXPECT_EQ(register_name(kernel, setp.operands[1]), "%p2");
  EXPECT_EQ(register_name(kernel, setp.operands[2]), "%r3");
  EXPECT_EQ(setp.operands[3].kind, Kind::integer);
  EXPECT_EQ(setp.operands[3].value, -7);
  EXPECT_TRUE(setp.operands[4].negated);
  EXPECT_EQ(register_name(kernel, setp.operands[4]), "%p4");
}

TEST(PtxParser, ReadsImmediates) {
  const auto integer = [](std::string_view text) {
    return instruction_of("mov.b64 %rd1, " + std::string(text) + ";").operands.at(1).value;
  };
  EXPECT_EQ(integer("0xFFFFFFFFFFFFFFFF"), -1);
  EXPECT_EQ(integer("-0x8000000000000000"), INT64_MIN);
  EXPECT_EQ(integer("017U"), 15);
  EXPECT_EQ(integer("~0 & 0xF0 | 1 << 2"), 0xF4);
  EXPECT_EQ(integer("(3 - 5) * 2 % 3"), -1);
  EXPECT_EQ(integer("-8 >> 1"), -4);
  EXPECT_EQ(integer("(.u64)-8 >> 60"), 15);
  EXPECT_EQ(integer("WARP_SZ == 32 && !0 ? 7 : 9"), 7);
  EXPECT_EQ(integer("-9223372036854775807 - 1"), INT64_MIN);
  EXPECT_EQ(integer("(-9223372036854775807 - 1) / -1"), INT64_MIN);

  const PtxOperand half = instruction_of("mov.f32 %f1, -0f3F000000;").operands.at(1);
  EXPECT_EQ(half.kind, Kind::floating);
  EXPECT_TRUE(half.single);
  EXPECT_EQ(half.as_double(), -0.5);
  EXPECT_EQ(half.single_bits(), 0xBF000000u);
  EXPECT_EQ(instruction_of("mov.f32 %f1, 0f7FA00001;").operands.at(1).single_bits(), 0x7FA00001u);
  EXPECT_EQ(instruction_of("mov.f32 %f1, 0f00000001;").operands.at(1).single_bits(), 1u);
  EXPECT_EQ(instruction_of("mov.f32 %f1, 0.1;").operands.at(1).single_bits(), 0x3DCCCCCDu);
}

TEST(PtxParser, ReadsAddressesAndVectors) {
  const PtxFunction kernel = body_of(
      "ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd2+-16];\nst.global.u32 [g+4], %r1;\n"
      "ld.shared.u32 %r1, [64];\nld.param.u64 %rd1, [a];\nmov.u64 %rd1, g+12;\nld.u32 %r1, [%rd1 - 4];");
  const PtxInstruction& load = kernel.body[0];
  EXPECT_THAT(load.modifiers, ElementsAre("global", "v4", "f32"));
  ASSERT_EQ(load.operands.size(), 2u);
  ASSERT_EQ(load.operands[0].parts.size(), 4u);
  EXPECT_EQ(load.operands[0].parts[1].kind, Kind::sink);
  EXPECT_EQ(register_name(kernel, load.operands[0].parts[3]), "%f4");
  EXPECT_EQ(load.operands[1].kind, Kind::address);
  EXPECT_EQ(register_name(kernel, load.operands[1]), "%rd2");
  EXPECT_EQ(load.operands[1].value, -16);
  EXPECT_EQ(kernel.body[1].operands[0].name, "g");
  EXPECT_EQ(kernel.body[1].operands[0].value, 4);
  EXPECT_EQ(kernel.body[2].operands[1].index, -1);
  EXPECT_EQ(kernel.body[2].operands[1].value, 64);
  EXPECT_EQ(kernel.body[3].operands[1].name, "a");
  EXPECT_EQ(kernel.body[4].operands[1].kind, Kind::symbol);
  EXPECT_EQ(kernel.body[4].operands[1].value, 12);
  EXPECT_EQ(kernel.body[5].operands[1].value, -4);
}

TEST(PtxParser, ReadsSpecialRegistersAndSelectors) {
  EXPECT_EQ(instruction_of("mov.u32 %r1, %ctaid.z;").operands.at(1).name, "%ctaid.z");
  EXPECT_EQ(instruction_of("mov.u32 %r1, %lanemask_lt;").operands.at(1).name, "%lanemask_lt");
  EXPECT_EQ(instruction_of("mov.u64 %rd1, %clock64;").operands.at(1).kind, Kind::special);
  const PtxOperand selected = instruction_of("vadd.s32.s32.s32 %r1, %r2.b1, %r3, %r4;").operands.at(1);
  EXPECT_EQ(selected.kind, Kind::reg);
  EXPECT_EQ(selected.name, "b1");
}

TEST(PtxParser, ReadsTensorAddresses) {
  const PtxInstruction copy = instruction_of(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];");
  EXPECT_EQ(copy.modifiers.back(), "mbarrier::complete_tx::bytes");
  ASSERT_EQ(copy.operands.size(), 3u);
  ASSERT_EQ(copy.operands[1].parts.size(), 1u);
  EXPECT_EQ(copy.operands[1].parts[0].parts.size(), 2u);
}

TEST(PtxParser, ResolvesGuardsAndLabels) {
  const PtxFunction kernel = body_of("A: @!%p2 bra B;\nadd.s32 %r1, %r1, 1;\n@%p1 bra A;\nB: ret;");
  EXPECT_EQ(kernel.registers[static_cast<std::size_t>(kernel.body[0].guard)].name, "%p2");
  EXPECT_TRUE(kernel.body[0].guard_negated);
  EXPECT_EQ(kernel.body[0].operands[0].kind, Kind::label);
  EXPECT_EQ(kernel.body[0].operands[0].index, 3);
  EXPECT_FALSE(kernel.body[2].guard_negated);
  EXPECT_EQ(kernel.body[2].operands[0].index, 0);
  EXPECT_EQ(kernel.body.size(), 4u);
}

TEST(PtxParser, LabelsBelongToTheirScope) {
  const PtxFunction kernel = body_of("{ L: bra L; }\n{ L: bra L; }\nbra L;\n{ bra L; }\nL: ret;");
  EXPECT_EQ(kernel.body[0].operands[0].index, 0);
  EXPECT_EQ(kernel.body[1].operands[0].index, 1);
  EXPECT_EQ(kernel.body[2].operands[0].index, 4);
  EXPECT_EQ(kernel.body[3].operands[0].index, 4);
}

TEST(PtxParser, KnowsLoopsThatAreNotUnrolled) {
  const PtxFunction kernel = body_of(
      "mov.u32 %r1, 0;\n$L1:\n.pragma \"nounroll\";\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra $L1;\n"
      ".pragma \"other\";\nret;");
  EXPECT_THAT(kernel.not_unrolled, ElementsAre(1u));
}

TEST(PtxParser, EndsEveryBodyWithAnInstructionThatLeaves) {
  EXPECT_EQ(body_of("").body.size(), 1u);
  EXPECT_EQ(body_of("ret;").body.size(), 1u);
  EXPECT_EQ(body_of("@%p1 ret;").body.size(), 2u);
  const PtxFunction label_at_end = body_of("@%p1 bra END; ret; END:");
  EXPECT_EQ(label_at_end.body.size(), 3u);
  EXPECT_EQ(label_at_end.body[0].operands[0].index, 2);
  EXPECT_EQ(label_at_end.body[2].opcode, "ret");
}

TEST(PtxParser, ReadsIndexedBranches) {
  const PtxModule module = sample("syntax.ptx");
  const PtxFunction& kernel = *module.find_function("syntax");
  const auto branch =
      std::find_if(kernel.body.begin(), kernel.body.end(), [](const auto& i) { return i.opcode == "brx"; });
  ASSERT_NE(branch, kernel.body.end());
  const int next = static_cast<int>(branch - kernel.body.begin()) + 1;
  EXPECT_THAT(branch->branch_targets, ElementsAre(next, next + 1, next));
}

TEST(PtxParser, ReadsCalls) {
  const PtxModule module = sample("syntax.ptx");
  const PtxFunction& kernel = *module.find_function("syntax");
  std::vector<const PtxInstruction*> calls;
  for (const PtxInstruction& instruction : kernel.body) {
    if (instruction.opcode == "call") calls.push_back(&instruction);
  }
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->operands.at(0).name, "twice");
  EXPECT_EQ(calls[0]->call_returns.at(0).name, "b");
  EXPECT_EQ(calls[0]->call_arguments.at(0).name, "a");
  EXPECT_EQ(register_name(kernel, calls[1]->operands.at(0)), "%rd3");
  // The second scope declares a and b again: other variables.
  EXPECT_EQ(calls[1]->call_returns.at(0).name, "b#1");
  EXPECT_EQ(calls[1]->call_arguments.at(0).name, "a#1");
  std::set<std::string> names;
  for (const PtxVariable& local : kernel.locals) names.insert(local.name);
  EXPECT_EQ(names, (std::set<std::string>{"tile", "a", "b", "a#1", "b#1"}));
}

TEST(PtxParser, ScopesHideNames) {
  const PtxFunction kernel = body_of(
      "mov.b32 %r5, g;\n{ .reg .f32 %r5; .shared .b32 g; mov.b32 %r5, g; { .reg .pred %r<9>; mov.b32 %r5, g; } mov.b32 "
      "%r5, g; }\n"
      "mov.b32 %r5, g;");
  const auto type_at = [&](std::size_t i) {
    return kernel.registers[static_cast<std::size_t>(kernel.body[i].operands[0].index)].type;
  };
  EXPECT_EQ(type_at(0), PtxType::b32);
  EXPECT_EQ(type_at(1), PtxType::f32);
  EXPECT_EQ(type_at(2), PtxType::pred);
  EXPECT_EQ(type_at(3), PtxType::f32);
  EXPECT_EQ(type_at(4), PtxType::b32);
  EXPECT_EQ(kernel.body[0].operands[1].name, "g");
  EXPECT_EQ(kernel.body[1].operands[1].name, "g#0");  // the module has a g, so the local gets another name
  EXPECT_EQ(kernel.body[3].operands[1].name, "g#0");
  EXPECT_EQ(kernel.body[4].operands[1].name, "g");
}

TEST(PtxParser, RangesMayHaveDigitsInTheirNames) {
  const PtxFunction kernel = body_of(".reg .b32 %x1<5>, %y<11>;\nmov.b32 %x14, %y10;");
  EXPECT_EQ(register_name(kernel, kernel.body[0].operands[0]), "%x14");
  EXPECT_EQ(register_name(kernel, kernel.body[0].operands[1]), "%y10");
}

TEST(PtxParser, OriginsFollowInliningIntoTheUsersFile) {
  const PtxModule module = parsed(R"(.version 9.0
.entry k()
{
.reg .b32 %r<9>;
.loc 1 7 1
mov.b32 %r0, 0;
.loc 2 100 5, function_name $s0, inlined_at 1 9 3
mov.b32 %r1, 0;
.loc 3 200 6, function_name $s1, inlined_at 2 100 5
mov.b32 %r2, 0;
.loc 1 0 3
mov.b32 %r3, 0;
.loc 1 12 2, function_name $s2+8, inlined_at 1 30 1
mov.b32 %r4, 0;
.loc 3 5 5
ret;
}
.file 2 "/usr/include/cuda_fp16.h"
.file 1 "/some/where/kernel.cu"
.file 3 "x.h", 5, 6
)");
  std::vector<std::uint32_t> lines, columns, ptx_lines;
  for (const PtxInstruction& instruction : module.functions[0].body) {
    lines.push_back(instruction.origin.line);
    columns.push_back(instruction.origin.column);
    ptx_lines.push_back(instruction.origin.ptx_line);
  }
  EXPECT_THAT(lines, ElementsAre(7, 9, 9, 9, 12, 12));
  EXPECT_THAT(columns, ElementsAre(1, 3, 3, 3, 2, 2));
  EXPECT_THAT(ptx_lines, ElementsAre(6, 8, 10, 12, 14, 16));
}

TEST(PtxParser, TheUsersFileIsFoundByName) {
  constexpr std::string_view text =
      ".version 9.0\n.entry k() {\n.loc 4 8 1\nret;\n}\n.file 1 \"builtin.h\"\n.file 4 \"mine.cu\"\n";
  EXPECT_EQ(parse_ptx(text, "mine.cu")->functions[0].body[0].origin.line, 8u);
  EXPECT_EQ(parse_ptx(text, "other.cu")->functions[0].body[0].origin.line, 0u);  // then file 1 is taken for it
}

TEST(PtxParser, ReadsAliases) {
  const PtxModule module = parsed(".version 9.0\n.func f() { ret; }\n.func g();\n.alias g, f;\n");
  EXPECT_EQ(module.find_function("g")->alias_of, "f");
}

// What the compiler writes: nothing may be left out or read twice. The counts come from counting lines of text.
TEST(PtxParser, ReadsTheSamples) {
  const std::map<std::string, std::size_t> instructions = {
      {"atomics.ptx", 328},      {"calls.ptx", 309},   {"constants.ptx", 131}, {"mma_asm.ptx", 156},
      {"printf_assert.ptx", 63}, {"softmax.ptx", 290}, {"votes.ptx", 82}};
  std::size_t files = 0;
  for (const auto& [name, count] : instructions) {
    SCOPED_TRACE(name);
    const PtxModule module = sample(name.c_str());
    std::size_t found = 0;
    std::size_t with_line = 0;
    for (const PtxFunction& function : module.functions) {
      for (const PtxInstruction& instruction : function.body) {
        ++found;
        with_line += instruction.origin.line > 0;
      }
    }
    EXPECT_EQ(found, count);
    EXPECT_GT(with_line, found * 9 / 10);  // for some small functions the compiler gives no line at all
    ++files;
  }
  EXPECT_EQ(files, 7u);
}

TEST(PtxForms, CountsFormsMostFrequentFirst) {
  PtxForms forms;
  add_ptx_forms(parsed(".version 9.0\n.entry k() { bar.sync 0; bar.sync 0; ret; }"), forms);
  add_ptx_forms(parsed(".version 9.0\n.entry k() { ret; }"), forms);
  EXPECT_EQ(ptx_forms_text(forms), "      2 bar.sync\n      2 ret\n");
  ++forms["ret"];
  EXPECT_EQ(ptx_forms_text(forms), "      3 ret\n      2 bar.sync\n");
}

// Prints the forms of a folder of PTX files:  KW_PTX_FOLDER=... emulate_test --gtest_filter=PtxForms.PrintsAFolder
TEST(PtxForms, PrintsAFolder) {
  const char* given = std::getenv("KW_PTX_FOLDER");
  PtxForms forms;
  for (const auto& entry : std::filesystem::directory_iterator(given ? std::filesystem::path(given) : samples)) {
    if (entry.path().extension() != ".ptx") continue;
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text.ok());
    const auto module = parse_ptx(*text);
    EXPECT_TRUE(module.ok()) << entry.path() << ": " << to_string(module.error());
    if (module.ok()) add_ptx_forms(*module, forms);
  }
  EXPECT_GT(forms.size(), 100u);
  if (given) std::printf("%s", ptx_forms_text(forms).c_str());
}

}  // namespace
}  // namespace kw
