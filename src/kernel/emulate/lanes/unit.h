#pragma once
// What an operation is made of. Every file of lanes/ is compiled for each vector unit, KW_LANES being the namespace of
// the build; a row of the table is a form and a function of one lane, which the loops here apply to 32. The compiler
// vectorises them (emulate_bench --lanes shows it).

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstdint>
#include <utility>

#include "kernel/emulate/lane_table.h"

#if defined(__clang__)
#define KW_EACH_LANE _Pragma("clang loop vectorize(assume_safety)")
#else
#define KW_EACH_LANE _Pragma("GCC ivdep")
#endif

namespace kw::KW_LANES {

using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i128 = __int128;
using u128 = unsigned __int128;

template <class To, class From>
[[gnu::always_inline]] inline To bits_as(From value) {
  return __builtin_bit_cast(To, value);  // std::bit_cast is a function the linker could share between builds
}

// An operand type: Slot is what lies in the register file, Value what the operation computes with. Packed types have 64
// elements a slot.
template <class V, class S, PtxType t, int n = 32>
struct Lane {
  using Value = V;
  using Slot = S;
  static constexpr PtxType type = t;
  static constexpr int count = n;
  static V read(S slot) { return static_cast<V>(slot); }
  static S write(V value) {
    if constexpr (sizeof(V) <= 2) {
      return static_cast<u16>(value);  // 8-bit values live in 16-bit registers, too
    } else {
      return static_cast<S>(value);
    }
  }
};
template <class V, class S, PtxType t, int n = 32>
struct FloatLane {
  using Value = V;
  using Slot = S;
  static constexpr PtxType type = t;
  static constexpr int count = n;
  static V read(S slot) { return bits_as<V>(slot); }
  static S write(V value) { return bits_as<S>(value); }
};

using U8 = Lane<u8, u32, PtxType::u8>;
using S8 = Lane<i8, u32, PtxType::s8>;
using U16 = Lane<u16, u32, PtxType::u16>;
using S16 = Lane<i16, u32, PtxType::s16>;
using U32 = Lane<u32, u32, PtxType::u32>;
using S32 = Lane<i32, u32, PtxType::s32>;
using U64 = Lane<u64, u64, PtxType::u64>;
using S64 = Lane<i64, u64, PtxType::s64>;
using B16 = Lane<u16, u32, PtxType::b16>;
using B32 = Lane<u32, u32, PtxType::b32>;
using B64 = Lane<u64, u64, PtxType::b64>;
using U16x2 = Lane<u16, u16, PtxType::b32, 64>;
using S16x2 = Lane<i16, u16, PtxType::b32, 64>;
using F32 = FloatLane<float, u32, PtxType::f32>;
using F64 = FloatLane<double, u64, PtxType::f64>;
using F32x2 = FloatLane<float, u32, PtxType::b64, 64>;

template <class T>
inline constexpr const char* type_name = "";
template <>
inline constexpr const char* type_name<U8> = "u8";
template <>
inline constexpr const char* type_name<S8> = "s8";
template <>
inline constexpr const char* type_name<U16> = "u16";
template <>
inline constexpr const char* type_name<S16> = "s16";
template <>
inline constexpr const char* type_name<U32> = "u32";
template <>
inline constexpr const char* type_name<S32> = "s32";
template <>
inline constexpr const char* type_name<U64> = "u64";
template <>
inline constexpr const char* type_name<S64> = "s64";
template <>
inline constexpr const char* type_name<B16> = "b16";
template <>
inline constexpr const char* type_name<B32> = "b32";
template <>
inline constexpr const char* type_name<B64> = "b64";
template <>
inline constexpr const char* type_name<U16x2> = "u16x2";
template <>
inline constexpr const char* type_name<S16x2> = "s16x2";
template <>
inline constexpr const char* type_name<F32> = "f32";
template <>
inline constexpr const char* type_name<F64> = "f64";
template <>
inline constexpr const char* type_name<F32x2> = "f32x2";

inline constexpr u32 all_lanes = 0xffffffffu;

// Bit i for lane i, by slot width: turning a mask into a vector without variable shifts, which SSE2 lacks.
template <class S>
struct LaneBits {
  alignas(64) S bit[32];
  constexpr LaneBits() : bit() {
    for (int i = 0; i < 32; ++i) bit[i] = S{1} << i;
  }
};
template <class S>
inline constexpr LaneBits<S> lane_bits;

// The mask of the lanes whose flag has its top bit set.
[[gnu::always_inline]] inline u32 collect(const u32 (&flags)[32]) {
  u32 mask = 0;
#if defined(__AVX512F__)
  for (int i = 0; i < 2; ++i)
    mask |= static_cast<u32>(_mm512_movepi32_mask(_mm512_load_si512(flags + 16 * i))) << (16 * i);
#elif defined(__AVX2__)
  for (int i = 0; i < 4; ++i)
    mask |= static_cast<u32>(_mm256_movemask_ps(_mm256_load_ps(reinterpret_cast<const float*>(flags + 8 * i))))
            << (8 * i);
#else
  for (int i = 0; i < 8; ++i)
    mask |= static_cast<u32>(_mm_movemask_ps(_mm_load_ps(reinterpret_cast<const float*>(flags + 4 * i)))) << (4 * i);
#endif
  return mask;
}
[[gnu::always_inline]] inline u32 collect(const u64 (&flags)[32]) {
  u32 mask = 0;
#if defined(__AVX512F__)
  for (int i = 0; i < 4; ++i)
    mask |= static_cast<u32>(_mm512_movepi64_mask(_mm512_load_si512(flags + 8 * i))) << (8 * i);
#elif defined(__AVX2__)
  for (int i = 0; i < 8; ++i)
    mask |= static_cast<u32>(_mm256_movemask_pd(_mm256_load_pd(reinterpret_cast<const double*>(flags + 4 * i))))
            << (4 * i);
#else
  for (int i = 0; i < 16; ++i)
    mask |= static_cast<u32>(_mm_movemask_pd(_mm_load_pd(reinterpret_cast<const double*>(flags + 2 * i)))) << (2 * i);
#endif
  return mask;
}

// Copies the lanes in `active`; S is u32 or u64, one whole lane.
template <class S>
[[gnu::always_inline]] inline void merge(S* destination, const S* result, u32 active) {
#if defined(__AVX512F__)
  if constexpr (sizeof(S) == 4) {
    for (int i = 0; i < 2; ++i) {
      _mm512_mask_storeu_epi32(destination + 16 * i, static_cast<__mmask16>(active >> (16 * i)),
                               _mm512_load_si512(result + 16 * i));
    }
  } else {
    for (int i = 0; i < 4; ++i) {
      _mm512_mask_storeu_epi64(destination + 8 * i, static_cast<__mmask8>(active >> (8 * i)),
                               _mm512_load_si512(result + 8 * i));
    }
  }
#else
  KW_EACH_LANE
  for (int i = 0; i < 32; ++i) destination[i] = (active & lane_bits<S>.bit[i]) != 0 ? result[i] : destination[i];
#endif
}

inline void write_predicate(u32* predicate, u32 value, u32 active) {
  *predicate = (*predicate & ~active) | (value & active);
}

// A function pointer as an opaque value: what is called through it is not inlined, so nothing of it moves across the
// call.
[[gnu::always_inline]] inline LaneOperation opaque(LaneOperation operation) {
  asm volatile("" : "+r"(operation));
  return operation;
}

template <class D>
struct Output {
  using Slot = typename D::Slot;
  using Word = std::conditional_t<sizeof(Slot) * D::count == 128, u32, u64>;
  alignas(64) Slot spare[D::count];
  const LaneArguments& arguments;
  Slot* slots;
  explicit Output(const LaneArguments& a)
      : arguments(a), slots(a.active == all_lanes ? reinterpret_cast<Slot*>(a.destination) : spare) {}
  void finish() {
    if (slots == spare)
      merge(reinterpret_cast<Word*>(arguments.destination), reinterpret_cast<const Word*>(spare), arguments.active);
  }
};

// A type that is converted for all lanes at once before and after the loop, where there is an instruction that the
// compiler does not find.
template <class T>
concept Staged = requires(const typename T::Slot* slots, typename T::Value* values) { T::load(slots, values); };

template <class T>
struct Source {
  const typename T::Slot* slots;
  explicit Source(const std::byte* bytes) : slots(reinterpret_cast<const typename T::Slot*>(bytes)) {}
  typename T::Value at(int i) const { return T::read(slots[i]); }
};
template <Staged T>
struct Source<T> {
  alignas(64) typename T::Value values[T::count];
  explicit Source(const std::byte* bytes) { T::load(reinterpret_cast<const typename T::Slot*>(bytes), values); }
  typename T::Value at(int i) const { return values[i]; }
};

// destination = op(sources...), lane by lane. Op is a captureless lambda, so its type is the operation.
template <class D, class Op, class... S>
[[gnu::flatten]] void map(const LaneArguments& arguments) {
  Output<D> output(arguments);
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    [](typename D::Slot* out, const Source<S>&... in) {
      if constexpr (Staged<D>) {
        alignas(64) typename D::Value values[D::count];
        KW_EACH_LANE
        for (int i = 0; i < D::count; ++i) values[i] = static_cast<typename D::Value>(Op{}(in.at(i)...));
        D::store(values, out);
      } else {
        KW_EACH_LANE
        for (int i = 0; i < D::count; ++i) out[i] = D::write(static_cast<typename D::Value>(Op{}(in.at(i)...)));
      }
    }(output.slots, Source<S>(arguments.source[k])...);
  }(std::index_sequence_for<S...>{});
  output.finish();
}

// The mask of the lanes for which op(sources...) holds.
template <class Op, class First, class... S>
[[gnu::always_inline]] inline u32 lanes_where(const LaneArguments& arguments) {
  using Flag = typename First::Slot;
  static_assert(sizeof(Flag) >= 4);
  alignas(64) Flag flags[32];
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    [](Flag* out, const Flag* first, const typename S::Slot*... in) {
      KW_EACH_LANE
      for (int i = 0; i < 32; ++i) out[i] = Op{}(First::read(first[i]), S::read(in[i])...) ? ~Flag{0} : Flag{0};
    }(flags, reinterpret_cast<const Flag*>(arguments.source[0]),
      reinterpret_cast<const typename S::Slot*>(arguments.source[k + 1])...);
  }(std::index_sequence_for<S...>{});
  return collect(flags);
}

// Text of a form, put together from pieces.
struct Text {
  char text[96];
  template <class... Pieces>
  explicit Text(Pieces... pieces) : text{} {
    int length = 0;
    auto append = [&](const char* piece) {
      while (*piece != 0 && length < 95) text[length++] = *piece++;
    };
    (append(pieces), ...);
  }
};

template <class D, class... S, class Op>
void add_row(const LaneTable& table, const char* pattern, Op) {
  table.add(table.context, pattern, &map<D, Op, S...>, LaneSignature{D::type, {S::type...}});
}

// Round modes of MXCSR, bits 13 and 14.
enum class Rounding : u32 {
  nearest = 0x0000,
  down = 0x2000,
  up = 0x4000,
  zero = 0x6000,
  away = 0x1 /* ties away from zero; not in MXCSR */
};

// Runs the round-to-nearest form of an operation in another rounding mode. It must be made of single IEEE operations.
template <LaneOperation operation, Rounding mode>
void in_rounding_mode(const LaneArguments& arguments) {
  const u32 saved = _mm_getcsr();
  _mm_setcsr((saved & ~0x6000u) | static_cast<u32>(mode));
  opaque(operation)(arguments);
  _mm_setcsr(saved);
}

}  // namespace kw::KW_LANES
