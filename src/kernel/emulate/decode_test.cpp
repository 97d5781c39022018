// What the decoder must refuse by name, or resolve, before anything runs.
#include <gtest/gtest.h>

#include "kernel/emulate/decode_slots.h"
#include "kernel/emulate/ptx_parser.h"
#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

// The verdict for a kernel with this body: "ok", or the name of what is not emulated.
std::string verdict(const std::string& body, const std::string& declarations = "") {
  TestKernel kernel(body, declarations);
  kernel.in_out(std::vector<std::uint32_t>(64, 0));
  kernel.set_a(kernel.b());
  RunResult result = kernel.run(32);
  if (result.status == RunStatus::unsupported) {
    EXPECT_FALSE(result.unsupported.empty());
    return result.unsupported;
  }
  return std::string(name_of(result.status));
}

const std::string callee =
    ".func (.param .b32 out) five()\n{\n.reg .b32 %r<4>;\nmov.b32 %r1, 5;\nst.param.b32 [out], %r1;\nret;\n}\n";

// What an integer leaves behind is a subnormal number to a multiplier, which computes inactive lanes too.
TEST(Decode, IntegersAndNumbersShareNoSlot) {
  const auto module = parse_ptx(
      ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a)\n{\n"
      ".reg .b32 %r<9>; .reg .f32 %f<3>; .reg .b64 %rd<9>; .reg .f64 %fd<3>;\n"
      "ld.param.u64 %rd1, [a];\nld.u32 %r1, [%rd1];\nst.u32 [%rd1+4], %r1;\n"  // an integer, and no more
      "ld.f32 %f1, [%rd1];\nst.f32 [%rd1+4], %f1;\n"                           // a number by declaration
      "ld.b32 %r2, [%rd1];\nmul.f32 %r3, %r2, %r2;\nst.b32 [%rd1+4], %r3;\n"   // numbers by use
      "mov.u32 %r4, 5;\nst.u32 [%rd1+4], %r4;\n"                               // an integer again
      "ld.u64 %rd2, [%rd1];\nst.u64 [%rd1+8], %rd2;\nld.f64 %fd1, [%rd1];\nst.f64 [%rd1+8], %fd1;\nret;\n}\n");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  const PtxFunction& function = module->functions.at(0);
  const RegisterPlaces places = place_registers(function, order_blocks(function));
  const auto slot = [&](std::string_view name) {
    for (std::size_t r = 0; r < function.registers.size(); ++r)
      if (function.registers[r].name == name) return places.slot[r];
    ADD_FAILURE() << "there is no " << name;
    return no_slot;
  };
  EXPECT_EQ(slot("%r1"), slot("%r4"));
  EXPECT_EQ(slot("%f1"), slot("%r2"));
  EXPECT_NE(slot("%r1"), slot("%f1"));
  EXPECT_NE(slot("%r4"), slot("%r3"));
  EXPECT_NE(slot("%rd2"), slot("%fd1"));
}

TEST(Decode, AnAliasIsTheFunctionItStandsFor) {
  TestKernel kernel("{\n.param .b32 y;\ncall.uni (y), fifth, ();\nld.param.b32 %r20, [y];\n}\n" + store_r20,
                    callee + ".func (.param .b32 out) fifth();\n.alias fifth, five;\n");
  kernel.output(128);
  EXPECT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.result<std::uint32_t>(32), std::vector<std::uint32_t>(32, 5));
}

TEST(Decode, FunctionsWithRegisterParametersAreUnsupported) {
  const std::string old = ".func (.reg .b32 %out) f(.reg .b32 %in)\n{\nadd.s32 %out, %in, 1;\nret;\n}\n";
  EXPECT_EQ(verdict("call (%r20), f, (%r2);\n", old), "a function with .reg parameters");
  EXPECT_EQ(verdict("proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
                    "mov.u64 %rd9, f;\ncall (%r20), %rd9, (%r2), proto;\n",
                    old),
            "a function with .reg parameters");
}

TEST(Decode, RegistersOfAnotherWidthAreRefused) {
  EXPECT_EQ(verdict("add.u16 %r10, %r2, %r2;\n"), "add.u16");
  EXPECT_EQ(verdict("add.u32 %rs1, %rs1, %rs1;\n"), "add.u32");
  EXPECT_EQ(verdict("mov.b64 %rd5, %r2;\n"), "mov.b64");
  EXPECT_EQ(verdict("mov.b32 %r5, %rd2;\n"), "mov.b32");
}

TEST(Decode, VectorsHaveOneTwoFourOrEightElements) {
  EXPECT_EQ(verdict("ld.global.b32 {%r10, %r11, %r12}, [%rd1];\n"), "ld.global.b32");
  EXPECT_EQ(verdict("ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];\n"), "ok");
}

TEST(Decode, LocalAddressesNeedSixtyFourBits) {
  EXPECT_EQ(verdict(".local .align 4 .b8 depot[16];\nmov.u32 %r10, depot;\n"), "mov.u32");
}

// What the hardware since Hopper adds: a name, never a wrong answer.
TEST(Decode, WhatIsNotEmulatedIsNamed) {
  for (const char* line :
       {"mbarrier.init.shared.b64 [%rd1], 1;",
        "mbarrier.arrive.shared.b64 %rd5, [%rd1];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.wait_group 0;",
        "barrier.cluster.arrive;",
        "barrier.cluster.wait;",
        "wgmma.fence.sync.aligned;",
        "wgmma.commit_group.sync.aligned;",
        "mapa.u64 %rd5, %rd1, 0;",
        "cp.async.mbarrier.arrive.shared.b64 [%rd1];",
        "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%r2}];",
        "ld.global.b128 %r1, [%rd1];",
        "atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f1, %f2};",
        "red.global.v2.f32.add [%rd1], {%f1, %f2};",
        "isspacep.const %p1, %rd1;",
        "setmaxnreg.inc.sync.aligned.u32 64;",
        "stackrestore.u32 %r1;",
        "alloca.u64 %rd5, 8;",
        "getctarank.u32 %r5, %rd1;",
        "ld.shared::cluster.u32 %r5, [%r2];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r2];",
        "multimem.red.relaxed.sys.global.add.u32 [%rd1], %r2;",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%rd2], 128;",
        "tcgen05.fence::before_thread_sync;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, %r4}, {%f1, %f2, "
        "%f3, %f4}, %r5, 0;"}) {
    TestKernel kernel(std::string(line) + "\n");
    kernel.in_out(std::vector<std::uint32_t>(64, 0));
    kernel.set_a(kernel.b());
    auto loaded = LoadedModule::load(test_ptx(std::string(line) + "\n"));
    if (!loaded.ok()) {  // refused by the parser: with a message
      EXPECT_FALSE(loaded.error().message.empty());
      continue;
    }
    RunResult result = kernel.run(32);
    EXPECT_EQ(result.status, RunStatus::unsupported) << line << ": " << describe(result);
    std::string opcode = std::string(line).substr(0, std::string(line).find(' '));
    if (opcode.back() == ';') opcode.pop_back();
    EXPECT_EQ(result.unsupported, opcode);
  }
}

TEST(Findings, NotesNeverHideAFault) {
  FindingLog log(2);
  PtxOrigin where;
  for (where.line = 1; where.line < 5; ++where.line)
    if (log.admit(FindingKind::same_value_race, where)) {
      EmulatorFinding note;
      note.kind = FindingKind::same_value_race;
      note.line = where.line;
      log.add(note);
    }
  EXPECT_EQ(log.findings().size(), 2u);
  EXPECT_TRUE(log.admit(FindingKind::out_of_bounds, where));
  EmulatorFinding fault;
  fault.line = where.line;
  log.add(fault);
  EXPECT_EQ(log.findings().size(), 2u);
  EXPECT_EQ(log.findings()[0].kind, FindingKind::out_of_bounds);
  EXPECT_TRUE(log.has(FindingKind::out_of_bounds));
  EXPECT_FALSE(log.has(FindingKind::trap));
}

}  // namespace
}  // namespace kw
