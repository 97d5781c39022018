#include "kernel/compile/implicit_names.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace kw {
namespace {

// Space-separated words; a `*` at the end of one stands for anything.
struct ImplicitGroup {
  std::string_view header;
  bool in_std = false;  // the names count only after `std::`, or where all of std is used
  std::string_view names;
  std::string_view given_by;  // includes that bring them; empty: nvcc always does
};

// Found with nvcc 13.0 over g++ 12, by its dependencies (nvcc -M). Other versions of g++ differ a little.
constexpr std::string_view brings_stdint =
    "atomic bitset chrono cinttypes complex condition_variable filesystem fstream future inttypes.h iomanip ios "
    "iostream istream iterator locale memory mutex ostream random ratio regex shared_mutex sstream stdexcept string "
    "string_view system_error thread cuda.h cuda_pipeline.h cuda_awbarrier.h cooperative_groups.h "
    "cooperative_groups/* cuda/* cub/* nvtx3/* cublas_v2.h cublasLt.h";
constexpr std::string_view brings_cuda_library = "cooperative_groups.h cooperative_groups/* cuda/* cub/*";
constexpr std::string_view brings_function_objects =
    "bitset complex deque forward_list fstream functional ios iostream istream iterator map memory numeric ostream "
    "queue random regex set sstream stack stdexcept string thread unordered_map unordered_set vector "
    "cooperative_groups.h cooperative_groups/* cuda/* cub/*";

constexpr ImplicitGroup groups[] = {
    {"kw_system_types.h", false,
     "uint ushort ulong int8_t int16_t int32_t int64_t ssize_t u_char u_short u_int u_long u_int8_t u_int16_t "
     "u_int32_t u_int64_t timeval timespec quad_t u_quad_t register_t off_t loff_t pid_t id_t uid_t gid_t mode_t key_t "
     "float_t "
     "double_t",
     ""},
    {"kw_host_compiler.h", false,
     "__CHAR_BIT__ __SCHAR_MAX__ __SHRT_MAX__ __INT_MAX__ __LONG_MAX__ __LONG_LONG_MAX__ __SIZE_MAX__ __SIZEOF_* "
     "__SIZE_TYPE__ __PTRDIFF_TYPE__ __INT8_TYPE__ __INT16_TYPE__ __INT32_TYPE__ __INT64_TYPE__ __UINT8_TYPE__ "
     "__UINT16_TYPE__ __UINT32_TYPE__ __UINT64_TYPE__ __INTPTR_TYPE__ __UINTPTR_TYPE__ __FLT_* __DBL_* "
     "__ORDER_LITTLE_ENDIAN__ __ORDER_BIG_ENDIAN__ __BYTE_ORDER__ __GNU* __NVCC__ __linux* __unix* __x86_64* "
     "__amd64__ __LP64__ _LP64 __ELF__",
     ""},
    {"kw_host_builtins.h", false, "__builtin_*", ""},
    {"climits", false,
     "CHAR_BIT SCHAR_MIN SCHAR_MAX UCHAR_MAX CHAR_MIN CHAR_MAX SHRT_MIN SHRT_MAX USHRT_MAX INT_MIN INT_MAX UINT_MAX "
     "LONG_MIN LONG_MAX ULONG_MAX LLONG_MIN LLONG_MAX ULLONG_MAX MB_LEN_MAX WORD_BIT LONG_BIT SSIZE_MAX PATH_MAX",
     ""},
    {"cmath", false, "INFINITY NAN HUGE_VAL HUGE_VALF MAXFLOAT M_* FP_*", ""},
    {"cstddef", false, "offsetof max_align_t", ""},
    {"cstdlib", false, "EXIT_SUCCESS EXIT_FAILURE RAND_MAX div_t ldiv_t", ""},
    {"cstdio", false, "EOF BUFSIZ", ""},
    {"cstring", false, "strlen", ""},
    {"cstdint", false,
     "uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t int_least* int_fast* uint_least* "
     "uint_fast* INT8_* INT16_* INT32_* INT64_* UINT8_* UINT16_* UINT32_* UINT64_* SIZE_MAX INTPTR_* UINTPTR_MAX "
     "PTRDIFF_* INTMAX_* UINTMAX_*",
     brings_stdint},
    {"cfloat", false, "FLT_* DBL_* DECIMAL_DIG", brings_cuda_library},
    {"cstdint", true, "int*_t uint*_t", brings_stdint},
    {"cstddef", true, "size_t ptrdiff_t nullptr_t max_align_t byte", ""},
    {"cmath", true,
     "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
     "fmax fmin fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llrint llround log log10 log1p log2 logb "
     "lrint lround modf nearbyint nextafter pow remainder rint round scalbn signbit sin sinh sqrt tan tanh tgamma "
     "trunc",
     ""},
    {"cstdlib", true, "abs malloc free div_t ldiv_t", ""},
    {"limits", true, "numeric_limits", ""},
    {"type_traits", true,
     "integral_constant bool_constant true_type false_type enable_if* conditional* void_t remove_* add_* "
     "aligned_storage* alignment_of* common_type* conjunction* decay* declval disjunction* extent* invoke_result* "
     "is_* make_signed* make_unsigned* negation* rank* underlying_type*",
     ""},
    {"utility", true,
     "pair make_pair swap exchange as_const get tuple_size tuple_element integer_sequence index_sequence "
     "make_integer_sequence make_index_sequence index_sequence_for",
     ""},
    {"algorithm", true, "min max copy fill", ""},
    {"algorithm", true, "clamp", "functional regex valarray"},
    {"functional", true,
     "plus minus multiplies divides modulus negate less greater less_equal greater_equal equal_to not_equal_to "
     "logical_and logical_or logical_not bit_and bit_or bit_xor",
     brings_function_objects},
    {"array", true, "array", "functional cub/cub.cuh"},
    {"cstring", true, "memcpy memset strlen", brings_cuda_library},
    {"cstdio", true, "printf", brings_stdint},
    {"string", true, "string basic_string", "iostream istream ostream sstream fstream stdexcept iomanip ios"},
    // What cuBLAS's header includes; its own functions are the host's.
    {"cuda_fp16.h", false,
     "half half2 __half* __float2half* __float22half* __floats2half* __low2half* __high2half* __hadd* __hsub* __hmul* "
     "__hfma* __hmax* __hmin* hexp hlog hsqrt hrsqrt",
     "cublas_v2.h cublasLt.h"},
    {"cuda_bf16.h", false,
     "nv_bfloat16 nv_bfloat162 __nv_bfloat16* __float2bfloat16* __float22bfloat16* __bfloat16* __bfloat1622*",
     "cublas_v2.h cublasLt.h"},
    {"cuComplex.h", false,
     "cuComplex cuFloatComplex cuDoubleComplex make_cuComplex make_cuFloatComplex make_cuDoubleComplex "
     "cuCaddf cuCsubf cuCmulf cuCdivf cuCabsf cuCrealf cuCimagf cuConjf",
     "cublas_v2.h cublasLt.h"},
    // The whole of CUB has host code that NVRTC refuses; its collectives each have a header of their own.
    {"cub/block/block_adjacent_difference.cuh", false, "BlockAdjacentDifference", "cub/cub.cuh"},
    {"cub/block/block_discontinuity.cuh", false, "BlockDiscontinuity", "cub/cub.cuh"},
    {"cub/block/block_exchange.cuh", false, "BlockExchange", "cub/cub.cuh"},
    {"cub/block/block_histogram.cuh", false, "BlockHistogram", "cub/cub.cuh"},
    {"cub/block/block_load.cuh", false, "BlockLoad LoadDirect* BLOCK_LOAD_*", "cub/cub.cuh"},
    {"cub/block/block_merge_sort.cuh", false, "BlockMergeSort", "cub/cub.cuh"},
    {"cub/block/block_radix_sort.cuh", false, "BlockRadixSort", "cub/cub.cuh"},
    {"cub/block/block_reduce.cuh", false, "BlockReduce BLOCK_REDUCE_*", "cub/cub.cuh"},
    {"cub/block/block_scan.cuh", false, "BlockScan BLOCK_SCAN_*", "cub/cub.cuh"},
    {"cub/block/block_shuffle.cuh", false, "BlockShuffle", "cub/cub.cuh"},
    {"cub/block/block_store.cuh", false, "BlockStore StoreDirect* BLOCK_STORE_*", "cub/cub.cuh"},
    {"cub/warp/warp_exchange.cuh", false, "WarpExchange", "cub/cub.cuh"},
    {"cub/warp/warp_load.cuh", false, "WarpLoad", "cub/cub.cuh"},
    {"cub/warp/warp_merge_sort.cuh", false, "WarpMergeSort", "cub/cub.cuh"},
    {"cub/warp/warp_reduce.cuh", false, "WarpReduce", "cub/cub.cuh"},
    {"cub/warp/warp_scan.cuh", false, "WarpScan", "cub/cub.cuh"},
    {"cub/warp/warp_store.cuh", false, "WarpStore", "cub/cub.cuh"},
    {"cub/thread/thread_load.cuh", false, "ThreadLoad LOAD_*", "cub/cub.cuh"},
    {"cub/thread/thread_store.cuh", false, "ThreadStore STORE_*", "cub/cub.cuh"},
    {"cub/thread/thread_reduce.cuh", false, "ThreadReduce", "cub/cub.cuh"},
    {"cub/thread/thread_operators.cuh", false, "Sum Max Min Equality ArgMax ArgMin CastOp", "cub/cub.cuh"},
    {"cub/util_type.cuh", false, "KeyValuePair", "cub/cub.cuh"},
    {"cub/util_ptx.cuh", false, "LaneId WarpId LaneMaskLt LaneMaskLe LaneMaskGt LaneMaskGe ShuffleUp ShuffleDown",
     "cub/cub.cuh"},
    {"cuda/functional", false, "maximum minimum", "cub/cub.cuh"},
};

constexpr std::array<std::string_view, 16> host_compiler_macros = {
    "__GNUC__", "__GNUG__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__", "__NVCC__", "__linux__",
    "__linux",  "__unix__", "__unix",         "__x86_64__",          "__x86_64", "__amd64__",
    "__LP64__", "_LP64",    "__ELF__",        "__CUDACC_RTC__"};

template <class Visit>
void for_each_word(std::string_view words, Visit visit) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (!word.empty()) visit(word);
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
}

bool fits(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view after = pattern.substr(star + 1);
  return name.size() + 1 >= pattern.size() && name.substr(0, star) == pattern.substr(0, star) &&
         name.substr(name.size() - after.size()) == after;
}

using GroupList = std::vector<std::uint8_t>;

// Which groups have a name. Patterns are few, and all share their first letters with few identifiers.
class NameTable {
 public:
  explicit NameTable(bool in_std) {
    for (std::uint8_t i = 0; i < std::size(groups); ++i) {
      if (groups[i].in_std != in_std) continue;
      for_each_word(groups[i].names, [&](std::string_view word) {
        if (word.find('*') != std::string_view::npos) {
          patterns_.push_back({word, i});
          starts_[static_cast<unsigned char>(word[0])] = true;
        } else {
          exact_[word].push_back(i);
        }
      });
    }
  }

  template <class Visit>
  void for_each_group(std::string_view name, Visit visit) const {
    if (const auto found = exact_.find(name); found != exact_.end()) {
      for (const std::uint8_t group : found->second) visit(group);
    }
    if (!starts_[static_cast<unsigned char>(name[0])]) return;
    for (const auto& [pattern, group] : patterns_) {
      if (fits(pattern, name)) visit(group);
    }
  }

 private:
  std::unordered_map<std::string_view, GroupList> exact_;
  std::vector<std::pair<std::string_view, std::uint8_t>> patterns_;
  std::array<bool, 256> starts_{};
};

const NameTable& global_names() {
  static const NameTable table(false);
  return table;
}
const NameTable& std_names() {
  static const NameTable table(true);
  return table;
}

struct Uses {
  std::array<bool, std::size(groups)> in_std{};    // by a name after `std::`
  std::array<bool, std::size(groups)> anywhere{};  // by the name alone
  bool all_of_std = false;                         // using namespace std
  std::vector<std::string_view> includes;

  void read(std::span<const Token> tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind != TokenKind::identifier) continue;
      const std::string_view name = tokens[i].text;
      const bool qualified = i >= 2 && tokens[i - 1].is("::") && tokens[i - 2].is("std");
      // `cuda::std::array` is another one.
      const bool of_cuda = qualified && i >= 4 && tokens[i - 3].is("::") && tokens[i - 4].is("cuda");
      if (of_cuda) continue;
      if (name == "std" && i >= 2 && tokens[i - 1].is("namespace") && tokens[i - 2].is("using")) all_of_std = true;
      std_names().for_each_group(name, [&](std::uint8_t group) { (qualified ? in_std : anywhere)[group] = true; });
      global_names().for_each_group(name, [&](std::uint8_t group) { anywhere[group] = true; });
    }
  }

  void read_include(std::span<const Token> directive) {
    if (directive.size() < 2 || !directive[0].is("include") || directive[1].text.size() < 2) return;
    includes.push_back(directive[1].text.substr(1, directive[1].text.size() - 2));
  }

  bool need(std::size_t group) const {
    const bool used = groups[group].in_std ? in_std[group] || (all_of_std && anywhere[group]) : anywhere[group];
    return used && is_given(groups[group].given_by);
  }

 private:
  bool is_given(std::string_view given_by) const {
    bool given = given_by.empty();
    for_each_word(given_by, [&](std::string_view pattern) {
      given = given ||
              std::any_of(includes.begin(), includes.end(), [&](std::string_view name) { return fits(pattern, name); });
    });
    return given;
  }
};

}  // namespace

std::vector<std::string_view> implicit_headers(const TokenStream& stream) {
  Uses uses;
  uses.read(stream.tokens);
  uses.read(stream.directive_tokens);
  for (const Token& token : stream.tokens) {
    if (token.kind == TokenKind::directive) uses.read_include(stream.inside(token));
  }
  std::vector<std::string_view> headers;
  for (std::size_t i = 0; i < std::size(groups); ++i) {
    const std::string_view header = groups[i].header;
    if (uses.need(i) && std::find(headers.begin(), headers.end(), header) == headers.end()) headers.push_back(header);
  }
  return headers;
}

bool is_host_compiler_macro(std::string_view name) {
  return name[0] == '_' &&
         std::find(host_compiler_macros.begin(), host_compiler_macros.end(), name) != host_compiler_macros.end();
}

}  // namespace kw
