#pragma once
// Loads and stores of every space, width and vector length; atomics; asynchronous copies.

#include "kernel/emulate/engine_form_case.h"

namespace kw {

// Thread t takes element 31 - t of a, through `space` where there is one, and puts it at element t of b.
inline void add_load_store_cases(std::vector<EngineFormCase>& cases) {
  struct Path {
    const char* load;
    const char* store;    // empty: st.global
    const char* through;  // the address of the place between, for 16 bytes a thread; empty: none
  };
  const std::string shared_place = "mov.u32 %r41, place;\nshl.b32 %r42, %r2, 4;\nadd.u32 %r41, %r41, %r42;\n";
  const std::string local_place = "mov.u64 %rd41, place;\n";
  const Path paths[] = {{"ld.global", "st.global", ""},
                        {"ld.global.nc", "st.global", ""},
                        {"ld", "st", ""},
                        {"ld.volatile.global", "st.volatile.global", ""},
                        {"ld.relaxed.gpu.global", "st.relaxed.gpu.global", ""},
                        {"ld.acquire.gpu.global", "st.release.gpu.global", ""},
                        {"ld.relaxed.sys.global", "st.relaxed.sys.global", ""},
                        {"ld.acquire.gpu", "st.release.gpu", ""},
                        {"ld.relaxed.gpu", "st.relaxed.gpu", ""},
                        {"ld.volatile", "st.volatile", ""},
                        {"ld.weak.global", "st.weak.global", ""},
                        {"ld.global.ca", "st.global.wb", ""},
                        {"ld.global.cg", "st.global.cg", ""},
                        {"ld.global.cs", "st.global.cs", ""},
                        {"ld.global.lu", "st.global.wt", ""},
                        {"ld.global.cv", "st.global", ""},
                        {"ld.global.nc.L1::no_allocate", "st.global.L1::no_allocate", ""},
                        {"ld.global.L1::no_allocate", "st.global", ""},
                        {"ld.global.nc.L1::no_allocate.L2::128B", "st.global", ""},
                        {"ld.global.nc.L1::no_allocate.L2::256B", "st.global", ""},
                        {"ld.global.nc.L2::128B", "st.global", ""},
                        {"ld.global.L2::128B", "st.global", ""},
                        {"ldu.global", "st.global", ""},
                        {"ld.shared", "st.shared", "%r41"},
                        {"ld.volatile.shared", "st.volatile.shared", "%r41"},
                        {"ld.local", "st.local", "%rd41"}};
  for (const Path& path : paths) {
    for (const TypeText& type : memory_types()) {
      for (int count : {1, 2, 4}) {
        const std::size_t bytes = type.bytes * static_cast<std::size_t>(count);
        if (bytes > 16) continue;
        const std::string suffix = vector_text(count) + "." + type.name, value = registers_of(type, count);
        EngineFormCase one;
        one.forms = {path.load + suffix, path.store + suffix};
        one.input = arbitrary_bytes(32 * bytes);
        one.before = Bytes(32 * bytes, 0);
        one.expected = reversed_elements(one.input, bytes);
        one.body = element_addresses(bytes);
        if (*path.through == '\0') {
          one.body +=
              path.load + suffix + " " + value + ", [%rd20];\n" + path.store + suffix + " [%rd21], " + value + ";\n";
        } else {
          const bool shared = std::string(path.through) == "%r41";
          one.declarations = shared ? ".shared .align 16 .b8 place[512];\n" : "";
          one.body = (shared ? shared_place : ".local .align 16 .b8 place[16];\n" + local_place) + one.body +
                     "ld.global" + suffix + " " + value + ", [%rd20];\n" + path.store + suffix + " [" + path.through +
                     "], " + value + ";\n" + path.load + suffix + " " + value + ", [" + path.through + "];\nst.global" +
                     suffix + " [%rd21], " + value + ";\n";
        }
        cases.push_back(std::move(one));
      }
    }
  }
}

// Narrow values in wider registers: the sign reaches up.
inline void add_extension_cases(std::vector<EngineFormCase>& cases) {
  for (const char* space : {"global", "global.nc", "shared", "local"}) {
    for (const TypeText& type : memory_types()) {
      if (type.bytes > 2 || type.name == "f16" || type.name[0] == 'b') continue;
      const Bytes input = arbitrary_bytes(32 * type.bytes, 7);
      std::vector<std::uint32_t> expected(32);
      for (std::size_t t = 0; t < 32; ++t) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, input.data() + (31 - t) * type.bytes, type.bytes);
        const std::uint32_t sign = 1u << (8 * type.bytes - 1);
        expected[t] = type.name[0] == 's' ? (bits ^ sign) - sign : bits;
      }
      const std::string plain = std::string(space).substr(0, 6);
      std::string body = element_addresses(type.bytes), declarations, address = "%rd20";
      if (plain == "shared") {
        declarations = ".shared .align 16 .b8 place[512];\n";
        body += "mov.u32 %r41, place;\nshl.b32 %r42, %r2, 4;\nadd.u32 %r41, %r41, %r42;\nld.global." + type.name +
                " %rs1, [%rd20];\nst.shared." + type.name + " [%r41], %rs1;\n";
        address = "%r41";
      } else if (plain == "local") {
        body = ".local .align 16 .b8 place[16];\n" + body + "mov.u64 %rd41, place;\nld.global." + type.name +
               " %rs1, [%rd20];\nst.local." + type.name + " [%rd41], %rs1;\n";
        address = "%rd41";
      }
      body += "ld." + std::string(space) + "." + type.name + " %r20, [" + address + "];\n" + store_r20;
      cases.push_back({{"ld." + std::string(space) + "." + type.name},
                       body,
                       input,
                       Bytes(128, 0),
                       bytes_from(expected),
                       declarations});
    }
  }
}

// Constants, and the parameters of functions that are called.
inline void add_constant_and_call_cases(std::vector<EngineFormCase>& cases) {
  const Bytes table = arbitrary_bytes(32 * 16, 3);
  std::string initial = ".const .align 16 .b8 table[512] = {";
  for (std::size_t i = 0; i < table.size(); ++i) initial += (i == 0 ? "" : ", ") + std::to_string(table[i]);
  initial += "};\n";
  for (const TypeText& type : memory_types()) {
    for (int count : {1, 2, 4}) {
      const std::size_t bytes = type.bytes * static_cast<std::size_t>(count);
      if (bytes > 16) continue;
      const std::string suffix = vector_text(count) + "." + type.name, value = registers_of(type, count);
      const Bytes first(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(32 * bytes));
      EngineFormCase constant;
      constant.forms = {"ld.const" + suffix};
      constant.declarations = initial;
      constant.input = Bytes(16, 1);
      constant.before = Bytes(32 * bytes, 0);
      constant.expected = reversed_elements(first, bytes);
      constant.body = element_addresses(bytes) +
                      "sub.s64 %rd22, %rd20, %rd1;\nmov.u64 %rd23, table;\nadd.s64 %rd23, %rd23, %rd22;\nld.const" +
                      suffix + " " + value + ", [%rd23];\nst.global" + suffix + " [%rd21], " + value + ";\n";
      cases.push_back(constant);
      // A called function hands its argument back.
      for (const char* call : {"call", "call.uni"}) {
        const std::string array = count == 1 ? " ." + type.name + " " : " .align 16 .b8 ";
        const std::string size = count == 1 ? "" : "[" + std::to_string(bytes) + "]";
        EngineFormCase called;
        called.forms = {"st.param" + suffix, "ld.param" + suffix, call, "ret"};
        called.input = arbitrary_bytes(32 * bytes, 9);
        called.before = Bytes(32 * bytes, 0);
        called.expected = reversed_elements(called.input, bytes);
        called.declarations =
            ".func (.param" + array + "out" + size + ") same(.param" + array + "in" + size + ")\n{\n" +
            ".reg .b16 %rs<8>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<40>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n" +
            "ld.param" + suffix + " " + value + ", [in];\nst.param" + suffix + " [out], " + value + ";\nret;\n}\n";
        called.body = element_addresses(bytes) + "ld.global" + suffix + " " + value + ", [%rd20];\n{\n.param" + array +
                      "x" + size + ";\n.param" + array + "y" + size + ";\nst.param" + suffix + " [x], " + value +
                      ";\n" + call + " (y), same, (x);\nld.param" + suffix + " " + value + ", [y];\n}\nst.global" +
                      suffix + " [%rd21], " + value + ";\n";
        cases.push_back(std::move(called));
      }
    }
  }
}

struct AtomicUpdate {
  const char* name;
  const char* type;
  std::function<std::uint64_t(std::uint64_t, std::uint64_t)> apply;
};

inline std::vector<AtomicUpdate> atomic_updates() {
  auto as_float = [](std::uint64_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  };
  auto as_double = [](std::uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  };
  return {
      {"add", "u32", [](auto x, auto y) { return x + y; }},
      {"add", "s32", [](auto x, auto y) { return x + y; }},
      {"add", "u64", [](auto x, auto y) { return x + y; }},
      {"add", "f32",
       [=](auto x, auto y) {
         const float sum = as_float(x) + as_float(y);
         std::uint32_t bits;
         std::memcpy(&bits, &sum, 4);
         return std::uint64_t{bits};
       }},
      {"add", "f64",
       [=](auto x, auto y) {
         const double sum = as_double(x) + as_double(y);
         std::uint64_t bits;
         std::memcpy(&bits, &sum, 8);
         return bits;
       }},
      {"min", "u32", [](auto x, auto y) { return std::min<std::uint32_t>(x, y); }},
      {"max", "u32", [](auto x, auto y) { return std::max<std::uint32_t>(x, y); }},
      {"min", "s32", [](auto x, auto y) { return static_cast<std::uint32_t>(std::min<std::int32_t>(x, y)); }},
      {"max", "s32", [](auto x, auto y) { return static_cast<std::uint32_t>(std::max<std::int32_t>(x, y)); }},
      {"min", "u64", [](auto x, auto y) { return std::min(x, y); }},
      {"max", "u64", [](auto x, auto y) { return std::max(x, y); }},
      {"min", "s64", [](auto x, auto y) { return static_cast<std::uint64_t>(std::min<std::int64_t>(x, y)); }},
      {"max", "s64", [](auto x, auto y) { return static_cast<std::uint64_t>(std::max<std::int64_t>(x, y)); }},
      {"and", "b32", [](auto x, auto y) { return x & y; }},
      {"or", "b32", [](auto x, auto y) { return x | y; }},
      {"xor", "b32", [](auto x, auto y) { return x ^ y; }},
      {"and", "b64", [](auto x, auto y) { return x & y; }},
      {"or", "b64", [](auto x, auto y) { return x | y; }},
      {"xor", "b64", [](auto x, auto y) { return x ^ y; }},
      {"exch", "b32", [](auto, auto y) { return y; }},
      {"exch", "b64", [](auto, auto y) { return y; }},
      {"inc", "u32", [](auto x, auto y) { return x >= y ? 0 : x + 1; }},
      {"dec", "u32", [](auto x, auto y) { return x == 0 || x > y ? y : x - 1; }},
      // Half of the threads find what they compare with.
      {"cas", "b32", [](auto x, auto y) { return (x & 1) != 0 ? y : x; }},
      {"cas", "b64", [](auto x, auto y) { return (x & 1) != 0 ? y : x; }},
  };
}

// 16-bit floating point: 1 + 2 = 3 in both halves.
inline void add_half_atomic_cases(const std::string& start, std::vector<EngineFormCase>& cases) {
  if (start.find("shared") != std::string::npos) return;
  struct Half {
    const char* type;
    std::uint32_t one, two, three;
  };
  for (const Half& half :
       {Half{"noftz.f16x2", 0x3c003c00, 0x40004000, 0x42004200}, Half{"noftz.f16", 0x3c00, 0x4000, 0x4200},
        Half{"noftz.bf16x2", 0x3f803f80, 0x40004000, 0x40404040}, Half{"noftz.bf16", 0x3f80, 0x4000, 0x4040}}) {
    const bool pair = std::string(half.type).back() == '2', reduces = start.substr(0, 3) == "red";
    const std::string value = pair ? "%r30" : "%rs1", old = pair ? "%r31" : "%rs2";
    const std::string form = start + ".add." + half.type;
    cases.push_back({{form},
                     "mul.wide.u32 %rd10, %r2, 4;\nadd.s64 %rd11, %rd2, %rd10;\nmov.b" +
                         std::string(pair ? "32 " : "16 ") + value + ", " + std::to_string(half.two) + ";\n" + form +
                         " " + (reduces ? "" : old + ", ") + "[%rd11], " + value + ";\n",
                     Bytes(16, 1),
                     bytes_from(std::vector<std::uint32_t>(32, half.one)),
                     bytes_from(std::vector<std::uint32_t>(32, half.three))});
  }
}

// Each thread has a place of its own: b[t] becomes f(b[t], a[t]) and the old value goes behind (atom alone).
inline void add_atomic_cases(std::vector<EngineFormCase>& cases) {
  const std::vector<AtomicUpdate> updates = atomic_updates();
  for (const char* head :
       {"atom.global", "atom.shared", "atom", "atom.relaxed.gpu.global", "atom.acq_rel.gpu.global",
        "atom.acquire.gpu.global", "atom.release.gpu.global", "atom.relaxed.gpu", "atom.acq_rel.gpu", "atom.cta.shared",
        "red.global", "red.shared", "red", "red.relaxed.gpu.global", "red.release.gpu.global", "red.relaxed.gpu"}) {
    for (const AtomicUpdate& operation : updates) {
      const std::string name = operation.name, type = operation.type, start = head;
      const bool reduces = start.substr(0, 3) == "red", shared = start.find("shared") != std::string::npos;
      if (reduces && (name == "exch" || name == "cas")) continue;
      const std::size_t bytes = type.back() == '4' ? 8 : 4;
      const Bytes input = arbitrary_bytes(32 * bytes, 5);
      Bytes before = arbitrary_bytes(64 * bytes, 8);
      Bytes expected = before;
      for (std::size_t t = 0; t < 32; ++t) {
        std::uint64_t x = 0, y = 0;
        before[t * bytes] = static_cast<std::uint8_t>((before[t * bytes] & 0xfe) | (t & 1));
        std::memcpy(&x, before.data() + t * bytes, bytes);
        std::memcpy(&y, input.data() + t * bytes, bytes);
        const std::uint64_t next = operation.apply(x, y);
        std::memcpy(expected.data() + t * bytes, &next, bytes);
        if (!reduces) std::memcpy(expected.data() + (32 + t) * bytes, &x, bytes);
      }
      const std::string size = std::to_string(bytes), bits = bytes == 8 ? "b64" : "b32";
      const std::string x = bytes == 8 ? "%rd30" : "%r30", y = bytes == 8 ? "%rd31" : "%r31",
                        old = bytes == 8 ? "%rd32" : "%r32", find = bytes == 8 ? "%rd33" : "%r33";
      std::string body = "mul.wide.u32 %rd10, %r2, " + size +
                         ";\nadd.s64 %rd11, %rd1, %rd10;\nadd.s64 %rd12, %rd2, %rd10;\nld.global." + bits + " " + y +
                         ", [%rd11];\nld.global." + bits + " " + x + ", [%rd12];\n";
      // What cas compares with: the value where it is odd, something else where it is even.
      body += "mov." + bits + " " + find + ", " + x + ";\nor." + bits + " " + find + ", " + find + ", 1;\n";
      std::string address = "%rd12";
      if (shared) {
        body += "mov.u32 %r41, place;\nmul.lo.u32 %r42, %r2, " + size + ";\nadd.u32 %r41, %r41, %r42;\nst.shared." +
                bits + " [%r41], " + x + ";\n";
        address = "%r41";
      }
      const std::string form = start + "." + name + "." + type;
      body += form + " " + (reduces ? "" : old + ", ") + "[" + address + "], " + (name == "cas" ? find + ", " : "") +
              y + ";\n";
      if (shared) body += "ld.shared." + bits + " " + x + ", [%r41];\nst.global." + bits + " [%rd12], " + x + ";\n";
      if (!reduces) body += "st.global." + bits + " [%rd12+" + std::to_string(32 * bytes) + "], " + old + ";\n";
      cases.push_back({{form}, body, input, before, expected, shared ? ".shared .align 16 .b8 place[256];\n" : ""});
    }
    add_half_atomic_cases(head, cases);
  }
}

inline void add_copy_cases(std::vector<EngineFormCase>& cases) {
  for (const char* form : {"cp.async.ca.shared.global", "cp.async.cg.shared.global",
                           "cp.async.ca.shared.global.L2::128B", "cp.async.cg.shared.global.L2::128B",
                           "cp.async.ca.shared.global.L2::256B", "cp.async.cg.shared.global.L2::256B"}) {
    for (std::size_t bytes : {4u, 8u, 16u}) {
      if (form[9] == 'c' && form[10] == 'g' && bytes != 16) continue;
      for (std::size_t taken : {bytes, bytes / 2}) {
        for (const char* wait : {"cp.async.commit_group;\ncp.async.wait_group 0;\n", "cp.async.wait_all;\n"}) {
          const std::string size = std::to_string(bytes);
          EngineFormCase one;
          one.forms = {form, *(wait + 9) == 'w' ? "cp.async.wait_all" : "cp.async.wait_group", "cp.async.commit_group"};
          if (one.forms[1] == "cp.async.wait_all") one.forms.pop_back();
          one.declarations = ".shared .align 16 .b8 place[512];\n";
          one.input = arbitrary_bytes(32 * bytes, 6);
          one.before = Bytes(32 * bytes, 0);
          one.expected = reversed_elements(one.input, bytes);
          for (std::size_t i = 0; i < one.expected.size(); ++i)
            if (i % bytes >= taken) one.expected[i] = 0;
          one.body = element_addresses(bytes) + "mov.u32 %r41, place;\nmul.lo.u32 %r42, %r2, " + size +
                     ";\nadd.u32 %r41, %r41, %r42;\n" + form + " [%r41], [%rd20], " + size +
                     (taken == bytes ? "" : ", " + std::to_string(taken)) + ";\n" + wait;
          for (std::size_t i = 0; i < bytes; i += 4)
            one.body += "ld.shared.b32 %r43, [%r41+" + std::to_string(i) + "];\nst.global.b32 [%rd21+" +
                        std::to_string(i) + "], %r43;\n";
          cases.push_back(std::move(one));
        }
      }
    }
  }
}

}  // namespace kw
