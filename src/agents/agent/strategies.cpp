#include "agents/agent/strategies.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "kernel/source/lexer.h"

namespace kw {
namespace {

constexpr std::array<std::pair<Strategy, std::string_view>, 20> names{{
    {Strategy::shared_memory, "shared_memory"},
    {Strategy::tiling, "tiling"},
    {Strategy::vectorised, "vectorised"},
    {Strategy::packed_half, "packed_half"},
    {Strategy::warp_shuffle, "warp_shuffle"},
    {Strategy::warp_reduce, "warp_reduce"},
    {Strategy::grid_stride, "grid_stride"},
    {Strategy::register_blocking, "register_blocking"},
    {Strategy::unrolled, "unrolled"},
    {Strategy::restrict_pointers, "restrict_pointers"},
    {Strategy::read_only_loads, "read_only_loads"},
    {Strategy::launch_bounds, "launch_bounds"},
    {Strategy::tensor_cores, "tensor_cores"},
    {Strategy::async_copy, "async_copy"},
    {Strategy::cooperative_groups, "cooperative_groups"},
    {Strategy::atomics, "atomics"},
    {Strategy::fast_math, "fast_math"},
    {Strategy::constant_memory, "constant_memory"},
    {Strategy::many_kernels, "many_kernels"},
    {Strategy::templates, "templates"},
}};

struct Word {
  std::string_view text;
  bool prefix;  // matches the beginning of an identifier
  Strategy strategy;
};

constexpr std::array words{
    Word{"__shared__", false, Strategy::shared_memory},
    Word{"float2", false, Strategy::vectorised},
    Word{"float4", false, Strategy::vectorised},
    Word{"int2", false, Strategy::vectorised},
    Word{"int4", false, Strategy::vectorised},
    Word{"uint2", false, Strategy::vectorised},
    Word{"uint4", false, Strategy::vectorised},
    Word{"double2", false, Strategy::vectorised},
    Word{"longlong2", false, Strategy::vectorised},
    Word{"char4", false, Strategy::vectorised},
    Word{"uchar4", false, Strategy::vectorised},
    Word{"short4", false, Strategy::vectorised},
    Word{"half2", false, Strategy::packed_half},
    Word{"__half2", false, Strategy::packed_half},
    Word{"__nv_bfloat162", false, Strategy::packed_half},
    Word{"nv_bfloat162", false, Strategy::packed_half},
    Word{"__shfl_", true, Strategy::warp_shuffle},
    Word{"__reduce_", true, Strategy::warp_reduce},
    Word{"__ballot_sync", false, Strategy::warp_reduce},
    Word{"__any_sync", false, Strategy::warp_reduce},
    Word{"__all_sync", false, Strategy::warp_reduce},
    Word{"__restrict__", false, Strategy::restrict_pointers},
    Word{"__restrict", false, Strategy::restrict_pointers},
    Word{"__ldg", false, Strategy::read_only_loads},
    Word{"__ldcs", false, Strategy::read_only_loads},
    Word{"__launch_bounds__", false, Strategy::launch_bounds},
    Word{"wmma", false, Strategy::tensor_cores},
    Word{"memcpy_async", false, Strategy::async_copy},
    Word{"__pipeline_memcpy_async", false, Strategy::async_copy},
    Word{"cooperative_groups", false, Strategy::cooperative_groups},
    Word{"atomic", true, Strategy::atomics},
    Word{"__expf", false, Strategy::fast_math},
    Word{"__logf", false, Strategy::fast_math},
    Word{"__powf", false, Strategy::fast_math},
    Word{"__sinf", false, Strategy::fast_math},
    Word{"__cosf", false, Strategy::fast_math},
    Word{"__tanhf", false, Strategy::fast_math},
    Word{"__fdividef", false, Strategy::fast_math},
    Word{"__frcp_rn", false, Strategy::fast_math},
    Word{"rsqrtf", false, Strategy::fast_math},
    Word{"__constant__", false, Strategy::constant_memory},
};

// In inline PTX.
constexpr std::array<std::pair<std::string_view, Strategy>, 5> instructions{{
    {"mma.sync", Strategy::tensor_cores},
    {"cp.async", Strategy::async_copy},
    {"ld.global.nc", Strategy::read_only_loads},
    {"shfl.sync", Strategy::warp_shuffle},
    {".v4.", Strategy::vectorised},
}};

class TokenWalk {
 public:
  explicit TokenWalk(const TokenStream& stream) : stream_(stream) {}

  std::uint32_t found() {
    for (at_ = 0; at_ < stream_.tokens.size(); ++at_) look(stream_.tokens[at_]);
    if (kernels_ > 1) add(Strategy::many_kernels);
    if (barrier_in_loop_ && has(Strategy::shared_memory)) add(Strategy::tiling);
    return found_;
  }

 private:
  void add(Strategy strategy) { found_ |= 1u << static_cast<unsigned>(strategy); }
  bool has(Strategy strategy) const { return (found_ >> static_cast<unsigned>(strategy) & 1u) != 0; }
  std::string_view text(std::size_t at) const {
    return at < stream_.tokens.size() ? stream_.tokens[at].text : std::string_view();
  }

  void look(const Token& token) {
    if (token.kind == TokenKind::directive) {
      const auto inside = stream_.inside(token);
      if (inside.size() > 1 && inside[0].is("pragma") && inside[1].is("unroll")) add(Strategy::unrolled);
    } else if (token.kind == TokenKind::string) {
      for (const auto& [instruction, strategy] : instructions)
        if (token.text.find(instruction) != std::string_view::npos) add(strategy);
    } else if (token.kind == TokenKind::punctuator) {
      look_at_punctuator(token);
    } else if (token.kind == TokenKind::identifier) {
      look_at_word(token);
    }
  }

  void look_at_punctuator(const Token& token) {
    if (token.is("{")) {
      loops_.push_back(loop_next_);
      if (loop_next_) ++loop_depth_;
      loop_next_ = false;
    } else if (token.is("}") && !loops_.empty()) {
      if (loops_.back()) --loop_depth_;
      loops_.pop_back();
    } else if (token.is("(") && loop_head_ == 0 && head_next_) {
      loop_head_ = 1;
      head_next_ = false;
    } else if (loop_head_ > 0) {
      if (token.is("(")) ++loop_head_;
      if (token.is(")") && --loop_head_ == 0) loop_next_ = true;
    } else if (token.is(";")) {
      loop_next_ = false;
      statement_shared_ = false;
    }
    // `float sums[4]` in a function, not shared: results of a thread.
    if (token.is("[") && !loops_.empty() && at_ >= 2 && !statement_shared_ && is_type(text(at_ - 2)) &&
        stream_.tokens[at_ - 1].kind == TokenKind::identifier)
      add(Strategy::register_blocking);
  }

  static bool is_type(std::string_view word) {
    constexpr std::array types{"float", "double", "int", "half", "__half", "__nv_bfloat16", "float4", "float2"};
    return std::find(types.begin(), types.end(), word) != types.end();
  }

  void look_at_word(const Token& token) {
    for (const Word& word : words)
      if (word.prefix ? token.text.starts_with(word.text) : token.text == word.text) add(word.strategy);
    if (token.is("for") || token.is("while")) head_next_ = true;
    if (token.is("do")) loop_next_ = true;
    if (token.is("__shared__")) statement_shared_ = true;
    if (token.is("__global__")) {
      ++kernels_;
      if (at_ > 0 && text(at_ - 1) == ">") add(Strategy::templates);
    }
    if (token.is("gridDim") && (loop_head_ > 0 || near_stride())) add(Strategy::grid_stride);
    if ((token.is("__syncthreads") || token.text.ends_with("sync")) && loop_depth_ > 0) barrier_in_loop_ = true;
  }

  // `const int stride = gridDim.x * blockDim.x;`, whatever its name is.
  bool near_stride() const {
    for (std::size_t i = at_ + 1; i < std::min(at_ + 5, stream_.tokens.size()); ++i)
      if (text(i) == "blockDim") return true;
    for (std::size_t i = at_ >= 5 ? at_ - 5 : 0; i < at_; ++i)
      if (text(i) == "blockDim") return true;
    return false;
  }

  const TokenStream& stream_;
  std::size_t at_ = 0;
  std::uint32_t found_ = 0;
  std::vector<bool> loops_;  // for each open brace, whether it is a loop's
  int loop_depth_ = 0;
  int loop_head_ = 0;       // brackets that are open in a loop's head
  bool head_next_ = false;  // a loop's head follows
  bool loop_next_ = false;  // a loop's body follows
  bool statement_shared_ = false;
  bool barrier_in_loop_ = false;
  int kernels_ = 0;
};

// Words of prose, all lower case.
constexpr std::array<std::pair<std::string_view, Strategy>, 34> claims{{
    {"shared memory", Strategy::shared_memory},
    {"shared_memory", Strategy::shared_memory},
    {"__shared__", Strategy::shared_memory},
    {"tiling", Strategy::tiling},
    {"tiled", Strategy::tiling},
    {"tiles", Strategy::tiling},
    {"vectorised", Strategy::vectorised},
    {"vectorized", Strategy::vectorised},
    {"vector load", Strategy::vectorised},
    {"float4", Strategy::vectorised},
    {"half2", Strategy::packed_half},
    {"shuffle", Strategy::warp_shuffle},
    {"__shfl", Strategy::warp_shuffle},
    {"warp_reduce", Strategy::warp_reduce},
    {"grid-stride", Strategy::grid_stride},
    {"grid stride", Strategy::grid_stride},
    {"grid_stride", Strategy::grid_stride},
    {"register blocking", Strategy::register_blocking},
    {"register_blocking", Strategy::register_blocking},
    {"register tiling", Strategy::register_blocking},
    {"unroll", Strategy::unrolled},
    {"restrict", Strategy::restrict_pointers},
    {"__ldg", Strategy::read_only_loads},
    {"read-only cache", Strategy::read_only_loads},
    {"launch bounds", Strategy::launch_bounds},
    {"launch_bounds", Strategy::launch_bounds},
    {"tensor core", Strategy::tensor_cores},
    {"wmma", Strategy::tensor_cores},
    {"cp.async", Strategy::async_copy},
    {"async", Strategy::async_copy},
    {"cooperative groups", Strategy::cooperative_groups},
    {"atomic", Strategy::atomics},
    {"fast math", Strategy::fast_math},
    {"constant memory", Strategy::constant_memory},
}};

std::vector<Strategy> from_bits(std::uint32_t bits) {
  std::vector<Strategy> result;
  for (const auto& [strategy, name] : names)
    if ((bits >> static_cast<unsigned>(strategy) & 1u) != 0) result.push_back(strategy);
  return result;
}

}  // namespace

std::string_view to_string(Strategy strategy) {
  for (const auto& [each, name] : names)
    if (each == strategy) return name;
  return "";
}

std::optional<Strategy> strategy_from_string(std::string_view text) {
  for (const auto& [each, name] : names)
    if (name == text) return each;
  return std::nullopt;
}

std::vector<Strategy> all_strategies() { return from_bits(~0u); }

std::vector<Strategy> strategies_of(std::string_view kernel) {
  if (kernel.size() > max_lexer_bytes) return {};
  const TokenStream stream = lex(kernel, "");
  return from_bits(TokenWalk(stream).found());
}

std::vector<Strategy> strategies_claimed(std::string_view prose) {
  std::string lower(prose);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::uint32_t bits = 0;
  for (const auto& [words_claimed, strategy] : claims)
    if (lower.find(words_claimed) != std::string::npos) bits |= 1u << static_cast<unsigned>(strategy);
  for (const auto& [strategy, name] : names)
    if (lower.find(name) != std::string::npos) bits |= 1u << static_cast<unsigned>(strategy);
  return from_bits(bits);
}

std::string to_string(const std::vector<Strategy>& strategies) {
  std::string text;
  for (const Strategy strategy : strategies) text += (text.empty() ? "" : ", ") + std::string(to_string(strategy));
  return text.empty() ? "none" : text;
}

}  // namespace kw
