// Wrong, huge and malicious text: a clear error with its line, within the limits.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "kernel/emulate/growing_ptx.h"
#include "kernel/emulate/ptx_parser.h"
#include "kernel/emulate/ptx_parser_invariants.h"

namespace kw {
namespace {

using testing::HasSubstr;
constexpr std::string_view head = ptx_head;
constexpr auto in_kernel = ptx_in_kernel;
constexpr auto repeated = repeated_ptx;

Error error_of(std::string_view text) {
  const auto module = parse_ptx(text);
  EXPECT_FALSE(module.ok());
  return module.ok() ? Error{} : module.error();
}

struct Wrong {
  const char* body;
  const char* message;
};

TEST(PtxParserHostile, SaysWhatIsWrongInABodyAndWhere) {
  const Wrong cases[] = {
      {"add.s32 %r1, %r2, %r99;", "register '%r99' is not declared"},
      {"add.s32 %r1, %r2, %r01;", "register '%r01' is not declared"},
      {"add.s32 %r1, %r2, x;", "'x' is not declared"},
      {"add.s32 %r1, %r2", "expected ';' instead of '}'"},
      {"add.s32 %r1,, %r2;", "expected an operand"},
      {"@%r1 ret;", "'%r1' is not a predicate"},
      {"@%q ret;", "predicate '%q' is not declared"},
      {"bra NOWHERE;", "label 'NOWHERE' is not set"},
      {"{ L: ret; } bra L;", "label 'L' is not set"},
      {"L: L: ret;", "label 'L' is set twice"},
      {"brx.idx %r1, t;", "list of branch targets 't' is not declared"},
      {"t: .branchtargets L; brx.idx %r1, t;", "label 'L' is not set"},
      {"call f;", "'f' is not declared"},
      {"call 5;", "only a function or a register can be called"},
      {"call %rd1, (%r1), proto;", "call prototype 'proto' is not declared"},
      {"mov.b32 %r1, 1 / 0;", "divides by zero"},
      {"mov.b32 %r1, 99999999999999999999;", "does not fit into 64 bits"},
      {"mov.b32 %r1, 1.5 + 1;", "needs integers"},
      {"mov.b32 %r1, 0f12;", "8 hexadecimal digits"},
      {"ld.u32 %r1, [%tid.x];", "cannot be the base of an address"},
      {"ld.u32 %r1, [%rd1+%r1];", "expected a constant"},
      {"ld.u32 %r1, [%rd1;", "expected ']'"},
      {"mov.b64 {{%r1}}, %rd1;", "nested"},
      {"mov.b64 {}, %rd1;", "expected an operand"},
      {".reg .b32 %r<3>;", "declared twice"},
      {".reg .b32 x; .reg .f32 x;", "declared twice"},
      {".reg .b32 %big<100001>;", "too large"},
      {".reg .nothing x;", "type of a register"},
      {".shared .b8 s[0];", "at least one element"},
      {".shared .b8 s[-1];", "at least one element"},
      {".shared .b8 s[];", "needs a size"},
      {".shared .b8 s[4] = {1};", "only .global and .const"},
      {".shared .align 3 .b8 s[4];", "power of two"},
      {".shared .pred s;", ".pred"},
      {".shared s;", "has no type"},
      {".maxntid 5;", "'.maxntid' is not expected"},
      {".loc 1;", "file, line and column"},
      {"/* never", "this comment does not end"},
      {"mov.b32 %r1, \x01;", "byte here that PTX does not have"},
      {"5;", "expected an instruction"},
      {"mov.b32 %r1%r2, 1;", "expected ';' instead of '%r2'"},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.body);
    const Error error = error_of(in_kernel(wrong.body));
    EXPECT_THAT(error.message, HasSubstr(wrong.message));
    EXPECT_EQ(error.where.file, "PTX");
    EXPECT_THAT(error.where.line, testing::AnyOf(7, 8));  // 8: what is missing is noticed at the brace
  }
}

TEST(PtxParserHostile, SaysWhatIsWrongInAModule) {
  const Wrong cases[] = {
      {"nonsense", "expected a declaration instead of 'nonsense'"},
      {".entry k() { ret;", "expected an instruction"},
      {".entry k( { ret; }", "expected a parameter"},
      {".entry k() { ret; } .entry k() { ret; }", "defined twice"},
      {".global .b32 x; .global .b32 x;", "declared twice"},
      {".global .b32 x; .func x() { ret; }", "declared twice"},
      {".func f(.param .b32 a, .param .b32 a) { ret; }", "two parameters are called 'a'"},
      {".global .b32 x = y;", "'y' is not declared"},
      {".global .b32 x[2] = {1, 2, 3};", "more initial values"},
      {".global .b32 x[2][2] = {{1, 2, 3}};", "more values than its row"},
      {".global .b32 x[2] = {{1}};", "nested too deeply"},
      {".global .b16 x = 0f3F800000;", "cannot have a floating-point value"},
      {".global .b8 x[1099511627777];", "1 TiB"},
      {".global .b64 x[1099511627776];", "1 TiB"},
      {".global .b8 x[1048576][1048576][1048576][1048576];", "1 TiB"},
      {".global .b8 x[][1099511627776][1099511627776] = {1};", "1 TiB"},
      {".global .b8 x[][549755813888] = {{},{},{}};", "more initial values"},
      {".global .b8 x = 0(x);", "not a mask"},
      {".param .b32 x;", "parameters belong to a function"},
      {".section .debug_info {", "expected '}'"},
      {".alias f, g;", "function 'f' is not declared"},
      {".unknown 5", "'.unknown' is not expected here"},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.body);
    const Error error = error_of(std::string(head) + wrong.body);
    EXPECT_THAT(error.message, HasSubstr(wrong.message));
    EXPECT_EQ(error.where.line, 4);
  }
  EXPECT_THAT(error_of("").message, HasSubstr("not PTX"));
  EXPECT_THAT(error_of("#!/bin/sh\n").message, HasSubstr("not PTX"));
  EXPECT_THAT(error_of("__global__ void f() {}").message, HasSubstr("expected a declaration"));
}

TEST(PtxParserHostile, TellsUnsupportedFromWrong) {
  const Error texture = error_of(in_kernel("tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r1, %r2}];"));
  EXPECT_TRUE(is_unsupported_ptx(texture));
  EXPECT_THAT(texture.message, HasSubstr("'tex.2d.v4.f32.f32'"));
  EXPECT_EQ(texture.where.line, 7);
  EXPECT_TRUE(is_unsupported_ptx(error_of(".version 9.0\n.address_size 32\n")));
  EXPECT_TRUE(is_unsupported_ptx(error_of(".version 9.0\n.global .texref t;\n")));
  EXPECT_FALSE(is_unsupported_ptx(error_of(in_kernel("bra X;"))));
}

TEST(PtxParserHostile, BoundsNesting) {
  EXPECT_THAT(error_of(in_kernel(repeated("{", 100000))).message, HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(in_kernel("mov.b32 %r1, " + repeated("(", 100000))).message, HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(in_kernel("mov.b32 %r1, " + repeated("-", 100000))).message, HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(in_kernel("mov.b32 %r1, " + repeated("1?1:", 100000))).message, HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(head) + ".global .b8 x[4] = " + repeated("{", 100000)).message,
              HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(head) + ".global .b8 x" + repeated("[1]", 100000)).message,
              HasSubstr("too many dimensions"));
  EXPECT_THAT(error_of(in_kernel("mov" + repeated(".b32", 1000) + " %r1, 1;")).message,
              HasSubstr("too many modifiers"));
  EXPECT_THAT(error_of(in_kernel("mov.b32 {" + repeated("%r1,", 1000) + "%r1}, 1;")).message,
              HasSubstr("too many operands"));
}

TEST(PtxParserHostile, BoundsWhatManyDeclarationsAddUpTo) {
  EXPECT_THAT(error_of(in_kernel(".reg .b32 %a<60000>; .reg .b32 %b<60000>;")).message,
              HasSubstr("too many registers"));
  std::string functions(head);
  for (int i = 0; i < 100; ++i) functions += ".func f" + std::to_string(i) + "() { .reg .b32 %r<100000>; ret; }\n";
  EXPECT_THAT(error_of(functions).message, HasSubstr("too many registers"));
  std::string variables(head);
  for (int i = 0; i < 200001; ++i) variables += ".global .b8 x" + std::to_string(i) + ";";
  EXPECT_THAT(error_of(variables).message, HasSubstr("200000 variables"));
  // A long list of targets named by many branches must not multiply.
  std::string branches = "L: t: .branchtargets L" + repeated(",L", 10000) + ";" + repeated("brx.idx %r1, t;", 10000);
  EXPECT_THAT(error_of(in_kernel(branches)).message, HasSubstr("operands"));
}

TEST(PtxParserHostile, EveryPrefixOfASampleIsReadOrRefused) {
  const auto text = read_file(std::string(KW_SOURCE_ROOT) + "/tests/ptx/syntax.ptx");
  ASSERT_TRUE(text.ok());
  std::size_t refused = 0;
  for (std::size_t size = 0; size < text->size(); ++size) {
    const auto module = parse_ptx(std::string_view(*text).substr(0, size));
    refused += !module.ok();
    if (module.ok()) {
      ASSERT_EQ(broken_ptx_promise(*module), "") << size;
    }
  }
  EXPECT_GT(refused, text->size() / 2);
}

TEST(PtxParserHostile, InstructionLimitSlow) {
  EXPECT_THAT(error_of(in_kernel(repeated("ret;", 1000001))).message, HasSubstr("1000000 instructions"));
  EXPECT_TRUE(parse_ptx(in_kernel(repeated("ret;", 999990))).ok());
}

TEST(PtxParserHostile, InitialValueLimitSlow) {
  const std::string values = repeated("1,", 9 << 20);
  EXPECT_THAT(error_of(std::string(head) + ".global .b64 x[] = {" + values + "1};").message, HasSubstr("64 MiB"));
  const auto module = parse_ptx(std::string(head) + ".global .b32 x[] = {" + values + "1};");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->variables[0].bytes, ((std::uint64_t{9} << 20) + 1) * 4);
}

// How the time grows with them says growth_bench.
TEST(PtxParserHostile, ManyOfOneKindAreReadSlow) {
  for (const GrowingPtx& shape : growing_ptx()) {
    const auto module = parse_ptx(shape.of_pieces(240'000));
    EXPECT_EQ(module.ok(), shape.is_ptx) << shape.name << (module.ok() ? "" : ": " + to_string(module.error()));
  }
}

}  // namespace
}  // namespace kw
