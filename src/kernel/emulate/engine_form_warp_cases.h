#pragma once
// Moves, address conversions, control flow, barriers and what the lanes of a warp exchange.

#include "kernel/emulate/engine_form_case.h"

namespace kw {

inline void add_move_cases(std::vector<EngineFormCase>& cases) {
  for (const TypeText& type : memory_types()) {
    if (type.bytes == 1 || type.name == "f16") continue;
    const std::string one = std::string(type.reg) + "1", two = std::string(type.reg) + "2";
    const Bytes input = arbitrary_bytes(32 * type.bytes, 2);
    cases.push_back({{"mov." + type.name},
                     element_addresses(type.bytes) + "ld.global." + type.name + " " + one + ", [%rd20];\nmov." +
                         type.name + " " + two + ", " + one + ";\nst.global." + type.name + " [%rd21], " + two + ";\n",
                     input,
                     Bytes(input.size(), 0),
                     reversed_elements(input, type.bytes)});
  }
  // Into halves and back, the other way round.
  cases.push_back(
      lane_case({"mov.b32", "mov.b64"},
                "mov.b32 {%rs1, %rs2}, %r2;\nmov.b32 %r10, {%rs2, %rs1};\nmov.b64 %rd10, {%r2, %r10};\nmov.b64 {%r11, "
                "%r20}, %rd10;\n",
                [](std::uint32_t lane) { return lane << 16; }));
  cases.push_back(lane_case({"mov.pred"}, "setp.gt.u32 %p1, %r2, 9;\nmov.pred %p2, %p1;\nselp.u32 %r20, 5, 6, %p2;\n",
                            [](std::uint32_t lane) { return lane > 9 ? 5u : 6u; }));
  // A generic address and the one of its space differ by the same amount for all; a round trip is the identity.
  cases.push_back(lane_case(
      {"cvta.global.u64", "cvta.to.global.u64"},
      "cvta.to.global.u64 %rd10, %rd2;\ncvta.global.u64 %rd11, %rd10;\nsub.s64 %rd12, %rd11, %rd2;\ncvt.u32.u64 "
      "%r20, %rd12;\n",
      [](std::uint32_t) { return 0u; }));
  for (const char* space : {"shared", "local"}) {
    const std::string name = space;
    const bool shared = name == "shared";
    cases.push_back(lane_case(
        {"cvta." + name + ".u64", "cvta.to." + name + ".u64", "isspacep." + name, "isspacep.global"},
        (shared ? "" : ".local .align 4 .b8 place[128];\n") +
            std::string("mov.u64 %rd10, place;\nmul.wide.u32 %rd11, %r2, ") + (shared ? "4" : "0") +
            ";\nadd.s64 %rd10, %rd10, %rd11;\ncvta." + name + ".u64 %rd12, %rd10;\nst.u32 [%rd12], %r2;\ncvta.to." +
            name + ".u64 %rd13, %rd12;\nld." + name + ".u32 %r10, [%rd13];\nisspacep." + name +
            " %p1, %rd12;\nisspacep.global %p2, %rd12;\nselp.u32 %r11, 100, 0, "
            "%p1;\nselp.u32 %r12, 1000, 0, %p2;\nadd.u32 %r20, %r10, %r11;\nadd.u32 %r20, %r20, %r12;\n",
        [](std::uint32_t lane) { return lane + 100; }, shared ? ".shared .align 4 .b8 place[128];\n" : ""));
  }
}

inline void add_control_cases(std::vector<EngineFormCase>& cases) {
  cases.push_back(lane_case({"bra"},
                            "mov.u32 %r20, 1;\nsetp.lt.u32 %p1, %r2, 7;\n@%p1 bra $SMALL;\nmov.u32 %r20, 2;\n$SMALL:\n",
                            [](std::uint32_t lane) { return lane < 7 ? 1u : 2u; }));
  cases.push_back(lane_case({"bra.uni"}, "mov.u32 %r20, 1;\nbra.uni $OVER;\nmov.u32 %r20, 2;\n$OVER:\n",
                            [](std::uint32_t) { return 1u; }));
  for (const char* form : {"brx.idx", "brx.idx.uni"})
    cases.push_back(lane_case(
        {form},
        "table: .branchtargets $A, $B, $C;\n" +
            (form[7] == '\0' ? std::string("rem.u32 %r10, %r2, 3;\n") : std::string("mov.u32 %r10, 1;\n")) + form +
            " %r10, table;\n$A:\nmov.u32 %r20, 10;\nbra $END;\n$B:\nmov.u32 %r20, 20;\nbra $END;\n$C:\nmov.u32 %r20, "
            "30;\n$END:\n",
        [=](std::uint32_t lane) { return form[7] == '\0' ? 10 * (lane % 3 + 1) : 20; }));
  // Lanes below 5 leave early and write nothing.
  for (const char* leave : {"ret", "exit"}) {
    EngineFormCase early =
        lane_case({leave}, "mov.u32 %r20, 3;\nsetp.lt.u32 %p1, %r2, 5;\n@%p1 " + std::string(leave) + ";\n",
                  [](std::uint32_t lane) { return lane < 5 ? 0u : 3u; });
    cases.push_back(early);
  }
  for (const char* form : {"trap", "brkpt"}) {
    EngineFormCase stop{{form}, std::string(form) + ";\n", Bytes(4, 1), Bytes(4, 0), Bytes(4, 0)};
    stop.status = RunStatus::fault;
    cases.push_back(stop);
  }
  const std::string indirect =
      "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\nmov.u64 %rd10, next;\n{\n.param .b32 x;\n.param .b32 "
      "y;\nst.param.b32 [x], %r2;\ncall (y), %rd10, (x), proto;\nld.param.b32 %r20, [y];\n}\n";
  cases.push_back(lane_case(
      {"call"}, indirect, [](std::uint32_t lane) { return lane + 1; },
      ".func (.param .b32 out) next(.param .b32 in)\n{\n.reg .b32 %r<4>;\nld.param.b32 %r1, [in];\nadd.u32 %r1, %r1, "
      "1;\nst.param.b32 [out], %r1;\nret;\n}\n"));
  // Without effect on values.
  for (const char* line : {"nanosleep.u32 20",
                           "prefetch.global.L2 [%rd1]",
                           "prefetch.global.L1 [%rd1]",
                           "prefetchu.L1 [%rd1]",
                           "membar.gl",
                           "membar.cta",
                           "membar.sys",
                           "fence.sc.gpu",
                           "fence.acq_rel.gpu",
                           "fence.acq_rel.cta",
                           "fence.acq_rel.sys",
                           "fence.sc.cta",
                           "fence.sc.sys",
                           "fence.sc.cluster",
                           "fence.acq_rel.cluster",
                           "fence.proxy.async",
                           "pmevent 1",
                           "griddepcontrol.wait",
                           "griddepcontrol.launch_dependents",
                           "discard.global.L2 [%rd1], 128",
                           "applypriority.global.L2::evict_normal [%rd1], 128"}) {
    const std::string text = line;
    cases.push_back(lane_case({text.substr(0, text.find(' '))}, "mov.u32 %r20, %r2;\n" + text + ";\n",
                              [](std::uint32_t lane) { return lane; }));
  }
}

// Two warps: each thread leaves its number in shared memory and reads what thread 63 - t left.
inline void add_barrier_cases(std::vector<EngineFormCase>& cases) {
  auto exchange = [&](std::vector<std::string> forms, const std::string& barrier) {
    std::vector<std::uint32_t> expected(64);
    for (std::uint32_t t = 0; t < 64; ++t) expected[t] = 63 - t;
    EngineFormCase one{
        std::move(forms),
        "mov.u32 %r10, place;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\nst.shared.u32 [%r12], %r2;\n" +
            barrier + "sub.u32 %r13, 252, %r11;\nadd.u32 %r14, %r10, %r13;\nld.shared.u32 %r20, [%r14];\n" + store_r20,
        Bytes(4, 1),
        Bytes(256, 0),
        bytes_from(expected),
        ".shared .align 4 .b8 place[256];\n"};
    one.threads = 64;
    cases.push_back(one);
  };
  exchange({"bar.sync"}, "bar.sync 0;\n");
  exchange({"bar.sync"}, "bar.sync 3, 64;\n");
  exchange({"bar.cta.sync"}, "bar.cta.sync 0;\n");
  exchange({"barrier.sync"}, "barrier.sync 1;\n");
  exchange({"barrier.sync.aligned"}, "barrier.sync.aligned 2;\n");
  exchange({"barrier.cta.sync"}, "barrier.cta.sync 0;\n");
  exchange({"barrier.cta.sync.aligned"}, "barrier.cta.sync.aligned 0;\n");
  exchange({"bar.arrive", "bar.sync"},  // each warp arrives for the other one, then waits for it
           "setp.lt.u32 %p1, %r2, 32;\n@%p1 bra $FIRST;\nbar.arrive 1, 64;\nbar.sync 2, 64;\nbra "
           "$ON;\n$FIRST:\nbar.sync 1, 64;\nbar.arrive 2, "
           "64;\n$ON:\n");
  auto reduce = [&](const std::string& form, const std::string& body, std::uint32_t expected) {
    EngineFormCase one{{form},
                       "setp.lt.u32 %p1, %r2, 40;\n" + body + store_r20,
                       Bytes(4, 1),
                       Bytes(256, 0),
                       bytes_from(std::vector<std::uint32_t>(64, expected))};
    one.threads = 64;
    cases.push_back(one);
  };
  for (const char* head : {"bar", "bar.cta", "barrier", "barrier.cta"}) {
    const std::string start = head;
    const std::string middle = start.substr(0, 7) == "barrier" ? ".aligned" : "";
    reduce(start + ".red.popc" + middle + ".u32", start + ".red.popc" + middle + ".u32 %r20, 0, %p1;\n", 40);
    reduce(start + ".red.and" + middle + ".pred",
           start + ".red.and" + middle + ".pred %p2, 0, %p1;\nselp.u32 %r20, 1, 0, %p2;\n", 0);
    reduce(start + ".red.or" + middle + ".pred",
           start + ".red.or" + middle + ".pred %p2, 0, %p1;\nselp.u32 %r20, 1, 0, %p2;\n", 1);
  }
  cases.push_back(lane_case(
      {"bar.warp.sync"},
      "mov.u32 %r10, place;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\nst.shared.u32 [%r12], "
      "%r2;\nbar.warp.sync "
      "-1;\nsub.u32 %r13, 124, %r11;\nadd.u32 %r14, %r10, %r13;\nld.shared.u32 %r20, [%r14];\n",
      [](std::uint32_t lane) { return 31 - lane; }, ".shared .align 4 .b8 place[128];\n"));
}

inline void add_exchange_cases(std::vector<EngineFormCase>& cases) {
  auto value = [](std::uint32_t lane) { return lane * lane + 3; };
  const std::string square = "mad.lo.u32 %r10, %r2, %r2, 3;\n";
  // The second result says whether the source was in range; it is added as 1000.
  auto shuffle = [&](const std::string& mode, int by, int clamp, const std::function<int(int)>& source) {
    cases.push_back(lane_case({"shfl.sync." + mode + ".b32"},
                              square + "shfl.sync." + mode + ".b32 %r20|%p1, %r10, " + std::to_string(by) + ", " +
                                  std::to_string(clamp) + ", -1;\n@%p1 add.u32 %r20, %r20, 1000;\n",
                              [=](std::uint32_t lane) {
                                const int from = source(static_cast<int>(lane));
                                return from < 0 ? value(lane) : value(static_cast<std::uint32_t>(from)) + 1000;
                              }));
  };
  shuffle("up", 3, 0, [](int lane) { return lane >= 3 ? lane - 3 : -1; });
  shuffle("down", 5, 31, [](int lane) { return lane + 5 < 32 ? lane + 5 : -1; });
  shuffle("bfly", 9, 31, [](int lane) { return lane ^ 9; });
  shuffle("idx", 17, 31, [](int) { return 17; });
  // __shfl_down_sync(mask, v, 2, 8): groups of eight lanes; c = (32 - 8) << 8 | 31.
  shuffle("down", 2, 24 << 8 | 31, [](int lane) { return lane % 8 + 2 < 8 ? lane + 2 : -1; });
  shuffle("up", 2, 24 << 8, [](int lane) { return lane % 8 >= 2 ? lane - 2 : -1; });
  shuffle("idx", 3, 24 << 8 | 31, [](int lane) { return lane / 8 * 8 + 3; });
  shuffle("bfly", 12, 24 << 8 | 31, [](int lane) { return (lane ^ 12) / 8 <= lane / 8 ? lane ^ 12 : -1; });

  const std::string odd = "and.b32 %r10, %r2, 1;\nsetp.eq.u32 %p1, %r10, 1;\n";
  cases.push_back(lane_case({"vote.sync.ballot.b32"}, odd + "vote.sync.ballot.b32 %r20, %p1, -1;\n",
                            [](std::uint32_t) { return 0xaaaaaaaau; }));
  struct Vote {
    const char* form;
    std::uint32_t some, all;
  };
  for (const Vote& vote :
       {Vote{"vote.sync.any.pred", 1, 1}, Vote{"vote.sync.all.pred", 0, 1}, Vote{"vote.sync.uni.pred", 0, 1}}) {
    const std::string form = vote.form;
    cases.push_back(lane_case({form},
                              odd + form + " %p2, %p1, -1;\nselp.u32 %r20, 1, 0, %p2;\nsetp.ge.u32 %p3, %r2, 0;\n" +
                                  form + " %p4, %p3, -1;\nselp.u32 %r11, 2, 0, %p4;\nadd.u32 %r20, %r20, %r11;\n",
                              [=](std::uint32_t) { return vote.some + 2 * vote.all; }));
  }
  for (const char* bits : {"b32", "b64"}) {
    const std::string width = bits, key = width == "b32" ? "%r11" : "%rd10";
    const std::string three = "rem.u32 %r11, %r2, 3;\ncvt.u64.u32 %rd10, %r11;\nshl.b64 %rd10, %rd10, 33;\n";
    cases.push_back(lane_case({"match.any.sync." + width},
                              three + "match.any.sync." + width + " %r20, " + key + ", -1;\n", [](std::uint32_t lane) {
                                std::uint32_t mask = 0;
                                for (std::uint32_t other = 0; other < 32; ++other)
                                  mask |= (other % 3 == lane % 3 ? 1u : 0u) << other;
                                return mask;
                              }));
    cases.push_back(
        lane_case({"match.all.sync." + width},
                  three + "match.all.sync." + width + " %r20|%p1, " + key + ", -1;\n@%p1 add.u32 %r20, %r20, 7;\n",
                  [](std::uint32_t) { return 0u; }));
    cases.push_back(lane_case({"match.all.sync." + width},
                              "mov.u32 %r11, 5;\nmov.u64 %rd10, 5;\nmatch.all.sync." + width + " %r20|%p1, " + key +
                                  ", -1;\n@%p1 and.b32 %r20, %r20, 0xff;\n",
                              [](std::uint32_t) { return 0xffu; }));
  }
  auto reduction = [&](const std::string& form,
                       const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& combine) {
    auto number = [](std::uint32_t lane) { return (lane * 0x9e3779b9u) ^ 0x12345678u; };
    std::uint32_t total = number(0);
    for (std::uint32_t lane = 1; lane < 32; ++lane) total = combine(total, number(lane));
    cases.push_back(lane_case(
        {form}, "mul.lo.u32 %r10, %r2, 0x9e3779b9;\nxor.b32 %r10, %r10, 0x12345678;\n" + form + " %r20, %r10, -1;\n",
        [=](std::uint32_t) { return total; }));
  };
  reduction("redux.sync.add.u32", [](auto a, auto b) { return a + b; });
  reduction("redux.sync.add.s32", [](auto a, auto b) { return a + b; });
  reduction("redux.sync.min.u32", [](auto a, auto b) { return std::min(a, b); });
  reduction("redux.sync.max.u32", [](auto a, auto b) { return std::max(a, b); });
  reduction("redux.sync.min.s32",
            [](auto a, auto b) { return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b; });
  reduction("redux.sync.max.s32",
            [](auto a, auto b) { return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b; });
  reduction("redux.sync.and.b32", [](auto a, auto b) { return a & b; });
  reduction("redux.sync.or.b32", [](auto a, auto b) { return a | b; });
  reduction("redux.sync.xor.b32", [](auto a, auto b) { return a ^ b; });
  cases.push_back(lane_case(
      {"activemask.b32"}, "mov.u32 %r20, 0;\nsetp.lt.u32 %p1, %r2, 6;\n@!%p1 bra $OUT;\nactivemask.b32 %r20;\n$OUT:\n",
      [](std::uint32_t lane) { return lane < 6 ? 0x3fu : 0u; }));
  cases.push_back(lane_case({"elect.sync"}, "elect.sync %r11|%p1, -1;\nselp.u32 %r20, 1, 0, %p1;\n",
                            [](std::uint32_t lane) { return lane == 0 ? 1u : 0u; }));
}

}  // namespace kw
