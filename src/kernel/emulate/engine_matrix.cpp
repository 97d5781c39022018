// Tensor-core instructions. The fragments of mma and ldmatrix are laid out as the PTX ISA says; those of wmma are
// nobody's business but the hardware's, so here element e of lane l is simply number l * per_lane + e of the matrix,
// row by row (some fragments hold all twice). Products are exact and sums are taken in double, then rounded once, to
// the nearest number of the accumulator's type: the hardware keeps fewer bits, in an order that is not documented (PTX
// ISA 9.0, 9.7.14.4.5 "wmma.mma": with .f16 for both c and d the precision is at least half).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "kernel/emulate/engine_matrix.h"
#include "kernel/emulate/half_float.h"
#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/operations.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr int max_side = 32;
constexpr int max_inner = 64;

// A matrix with a mark for elements that are undefined.
struct Matrix {
  int rows = 0, columns = 0;
  double at[max_inner][max_inner];
  bool undefined[max_inner][max_inner];
};

constexpr int per_register(PtxType type) {
  if (type == PtxType::s8 || type == PtxType::u8) return 4;
  return type == PtxType::f16 || type == PtxType::bf16 ? 2 : 1;
}
int element_bytes(PtxType type) { return type == PtxType::f64 ? 8 : 4 / per_register(type); }

double element_value(PtxType type, std::uint64_t bits) {
  switch (type) {
    case PtxType::f16:
      return float_from_half(static_cast<std::uint16_t>(bits));
    case PtxType::bf16:
      return float_from_bfloat16(static_cast<std::uint16_t>(bits));
    case PtxType::tf32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & 0xffffe000u);
    case PtxType::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case PtxType::f64:
      return std::bit_cast<double>(bits);
    case PtxType::s8:
      return static_cast<std::int8_t>(bits);
    case PtxType::u8:
      return static_cast<std::uint8_t>(bits);
    default:
      return static_cast<std::int32_t>(bits);
  }
}

// Through float without rounding twice: what float cannot hold becomes the odd neighbour, which no half lies on.
std::uint16_t half_from_double(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return half_from_float(nearest);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;  // towards zero
  return half_from_float(std::bit_cast<float>(bits | 1));
}

std::uint64_t element_bits(PtxType type, double value, bool saturate) {
  switch (type) {
    case PtxType::f16:
      return half_from_double(value);
    case PtxType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case PtxType::f64:
      return std::bit_cast<std::uint64_t>(value);
    default:
      if (saturate)
        value = std::clamp<double>(value, std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max());
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
  }
}

std::uint64_t get_element(Warp& warp, const std::vector<Slot>& registers, PtxType type, int lane, int e) {
  int per = per_register(type);
  Slot slot = registers[static_cast<std::size_t>(e / per)];
  if (type == PtxType::f64) return warp.u64(slot, lane);
  std::uint32_t bits = warp.u32(slot, lane);
  int width = 32 / per;
  return width == 32 ? bits : (bits >> (e % per * width)) & ((1u << width) - 1);
}

void set_element(Warp& warp, const std::vector<Slot>& registers, PtxType type, int lane, int e, std::uint64_t bits) {
  int per = per_register(type);
  Slot slot = registers[static_cast<std::size_t>(e / per)];
  if (type == PtxType::f64) {
    warp.u64(slot, lane) = bits;
    return;
  }
  int width = 32 / per;
  std::uint32_t mask = width == 32 ? 0xffffffffu : ((1u << width) - 1) << (e % per * width);
  std::uint32_t& word = warp.u32(slot, lane);
  word = (word & ~mask) | ((static_cast<std::uint32_t>(bits) << (e % per * width)) & mask);
}

// Where element e of a lane's fragment lies.
struct Place {
  int row, column;
};
enum class Part : std::uint8_t { a, b, c };

// PTX ISA 9.7.14.5, "Matrix fragments for mma": one rule covers all shapes, with `per` elements in a register.
Place mma_place(const MatrixOperation& matrix, Part part, int lane, int e) {
  int group = lane / 4, member = lane % 4;
  if (part == Part::c) return {group + 8 * (e / 2), member * 2 + e % 2};
  int per = per_register(matrix.a);
  int reg = e / per, within = e % per;
  if (part == Part::b) return {member * per + within + reg * 4 * per, group};
  if (matrix.m == 8) return {group, member * per + within + reg * 4 * per};
  return {group + 8 * (reg % 2), member * per + within + reg / 2 * 4 * per};
}

// Of wmma: all sides are powers of two, so nothing is divided.
class WmmaPlaces {
 public:
  WmmaPlaces(int rows, int columns, std::size_t registers, PtxType type)
      : per_lane_(static_cast<int>(registers) * per_register(type)),
        last_(rows * columns - 1),
        shift_(std::countr_zero(static_cast<unsigned>(columns))) {
    KW_CHECK(std::has_single_bit(static_cast<unsigned>(rows)) && std::has_single_bit(static_cast<unsigned>(columns)));
  }
  int per_lane() const { return per_lane_; }
  Place operator()(int lane, int e) const {
    const int number = (lane * per_lane_ + e) & last_;
    return {number >> shift_, number & ((1 << shift_) - 1)};
  }

 private:
  int per_lane_, last_, shift_;
};

template <PtxType type, class Where>
void gather_as(Warp& warp, const std::vector<Slot>& registers, Matrix& into, Where where) {
  int count = static_cast<int>(registers.size()) * per_register(type);
  for (int e = 0; e < count; ++e) {
    LaneMask undefined = warp.undefined_of(registers[static_cast<std::size_t>(e / per_register(type))]);
    for (int lane = 0; lane < warp_lanes; ++lane) {
      Place place = where(lane, e);
      into.at[place.row][place.column] = element_value(type, get_element(warp, registers, type, lane, e));
      into.undefined[place.row][place.column] = ((undefined >> lane) & 1) != 0;
    }
  }
}

// The type is asked for once, not for each element.
template <class Where>
void gather(Warp& warp, const std::vector<Slot>& registers, PtxType type, Matrix& into, Where where) {
  switch (type) {
    case PtxType::f16:
      return gather_as<PtxType::f16>(warp, registers, into, where);
    case PtxType::bf16:
      return gather_as<PtxType::bf16>(warp, registers, into, where);
    case PtxType::tf32:
      return gather_as<PtxType::tf32>(warp, registers, into, where);
    case PtxType::f32:
      return gather_as<PtxType::f32>(warp, registers, into, where);
    case PtxType::f64:
      return gather_as<PtxType::f64>(warp, registers, into, where);
    case PtxType::s8:
      return gather_as<PtxType::s8>(warp, registers, into, where);
    case PtxType::u8:
      return gather_as<PtxType::u8>(warp, registers, into, where);
    default:
      return gather_as<PtxType::s32>(warp, registers, into, where);
  }
}

template <class Where>
void scatter(Warp& warp, const std::vector<Slot>& registers, PtxType type, const Matrix& from, bool saturate,
             LaneMask active, Where where) {
  int count = static_cast<int>(registers.size()) * per_register(type);
  for (Slot slot : registers) warp.undefined_of(slot) &= ~active;
  for (int e = 0; e < count; ++e) {
    LaneMask& undefined = warp.undefined_of(registers[static_cast<std::size_t>(e / per_register(type))]);
    for (LaneMask left = active; left != 0; left &= left - 1) {
      int lane = __builtin_ctz(left);
      Place place = where(lane, e);
      set_element(warp, registers, type, lane, e, element_bits(type, from.at[place.row][place.column], saturate));
      if (from.undefined[place.row][place.column]) undefined |= 1u << lane;
    }
  }
}

// c += a * b; c is [m][n].
void multiply(const Matrix& a, const Matrix& b, Matrix& c, int m, int n, int k) {
  bool a_undefined[max_side] = {}, b_undefined[max_side] = {};
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l) a_undefined[i] |= a.undefined[i][l];
  for (int l = 0; l < k; ++l)
    for (int j = 0; j < n; ++j) b_undefined[j] |= b.undefined[l][j];
  for (int i = 0; i < m; ++i) {
    double sum[max_side] = {};
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) sum[j] += a.at[i][l] * b.at[l][j];
    for (int j = 0; j < n; ++j) {
      c.at[i][j] += sum[j];
      c.undefined[i][j] |= a_undefined[i] || b_undefined[j];
    }
  }
}

}  // namespace

const MatrixOperation& matrix_of(const Warp& warp, const Instruction& in) {
  return warp.frame->function->matrices[in.detail];
}

void order_and_check(Warp& warp, const Instruction& in, LaneMask active) {
  order_warp(warp);
  LaneMask missing = warp.existing & ~active;
  if (warp.existing == all_lanes && missing == 0) return;
  int lane = __builtin_ctz(active);
  report(warp, FindingKind::warp_sync_divergence, in, lane, 0,
         thread_text(warp, lane) + ": " + origin_of(warp, in).form + " needs all 32 lanes of the warp");
}

void run_mma(Warp& warp, const Instruction& in, LaneMask active) {
  order_and_check(warp, in, active);
  if (warp.worker->launch->options.skips_products()) return;
  const MatrixOperation& matrix = matrix_of(warp, in);
  static thread_local Matrix a, b, c;
  auto place = [&](Part part) { return [&matrix, part](int lane, int e) { return mma_place(matrix, part, lane, e); }; };
  gather(warp, matrix.registers_a, matrix.a, a, place(Part::a));
  gather(warp, matrix.registers_b, matrix.b, b, place(Part::b));
  gather(warp, matrix.registers_c, matrix.c, c, place(Part::c));
  multiply(a, b, c, matrix.m, matrix.n, matrix.k);
  scatter(warp, matrix.registers_d, matrix.d, c, matrix.saturate, active, place(Part::c));
}

void run_wmma(Warp& warp, const Instruction& in, LaneMask active) {
  order_and_check(warp, in, active);
  if (warp.worker->launch->options.skips_products()) return;
  const MatrixOperation& matrix = matrix_of(warp, in);
  static thread_local Matrix a, b, c;
  auto place = [](const std::vector<Slot>& registers, PtxType type, int rows, int columns) {
    return WmmaPlaces(rows, columns, registers.size(), type);
  };
  gather(warp, matrix.registers_a, matrix.a, a, place(matrix.registers_a, matrix.a, matrix.m, matrix.k));
  gather(warp, matrix.registers_b, matrix.b, b, place(matrix.registers_b, matrix.b, matrix.k, matrix.n));
  gather(warp, matrix.registers_c, matrix.c, c, place(matrix.registers_c, matrix.c, matrix.m, matrix.n));
  multiply(a, b, c, matrix.m, matrix.n, matrix.k);
  scatter(warp, matrix.registers_d, matrix.d, c, matrix.saturate, active,
          place(matrix.registers_d, matrix.d, matrix.m, matrix.n));
}

namespace {

int fragment_rows(const MatrixOperation& matrix) { return matrix.fragment == 'b' ? matrix.k : matrix.m; }
int fragment_columns(const MatrixOperation& matrix) { return matrix.fragment == 'a' ? matrix.k : matrix.n; }

// Without a stride the matrix is packed.
std::uint64_t stride_of(Warp& warp, const MatrixOperation& matrix, int lane) {
  if (matrix.stride != no_slot) return warp.u32(matrix.stride, lane);
  return static_cast<std::uint64_t>(matrix.a_column ? fragment_rows(matrix) : fragment_columns(matrix));
}

// A matrix that all lanes name alike, in one piece of memory where no access can go wrong and nobody looks for races.
struct PlainMatrix {
  const std::byte* data = nullptr;     // of the first element
  const std::byte* defined = nullptr;  // null: all of it
  std::uint64_t stride = 0;
};

bool all_lanes_alike(Warp& warp, const MatrixOperation& matrix, const std::uint64_t* addresses) {
  for (int lane = 1; lane < warp_lanes; ++lane)
    if (addresses[lane] != addresses[0] || stride_of(warp, matrix, lane) != stride_of(warp, matrix, 0)) return false;
  return true;
}

// What it costs is charged as it is for single accesses. False, with nothing done: they have to be looked at one by
// one.
bool find_plain(Warp& warp, const Instruction& in, const MatrixOperation& matrix, LaneMask active, int per_lane,
                PlainMatrix& plain) {
  if (active != all_lanes || warp.block->copies_async || warp.worker->racy != nullptr) return false;
  if (warp.undefined_of(in.source[0]) != 0) return false;
  if (matrix.stride != no_slot && warp.undefined_of(matrix.stride) != 0) return false;
  std::uint64_t addresses[warp_lanes];
  addresses_of(warp, in, matrix.memory, addresses);
  if (addresses[0] % 16 != 0 || !all_lanes_alike(warp, matrix, addresses)) return false;
  plain.stride = stride_of(warp, matrix, 0);
  const auto bytes = static_cast<std::uint64_t>(element_bytes(matrix.d));
  const auto lines = static_cast<std::uint64_t>(matrix.a_column ? fragment_columns(matrix) : fragment_rows(matrix));
  const auto length = static_cast<std::uint64_t>(matrix.a_column ? fragment_rows(matrix) : fragment_columns(matrix));
  const std::uint64_t extent = ((lines - 1) * plain.stride + length) * bytes;
  std::uint64_t address = addresses[0];
  PtxSpace space = matrix.memory.space;
  if (space == PtxSpace::generic) space = space_of_address(address);
  MemoryView view;
  if (space == PtxSpace::shared) {
    view = view_of_shared(warp);
  } else if (space == PtxSpace::global) {
    Allocation* allocation = warp.worker->launch->memory->find(address);
    if (allocation == nullptr) return false;
    view = view_of(warp, *allocation);
  } else {
    return false;
  }
  const std::uint64_t within = address - view.base;
  if (view.races != nullptr || address % bytes != 0 || address < view.base || within > view.bytes ||
      extent > view.bytes - within)
    return false;
  bool all_defined = true;
  for (std::uint64_t line = 0; line < lines && view.defined != nullptr; ++line) {
    const std::byte* marks = view.defined + within + line * plain.stride * bytes;
    if (view.shared && std::memchr(marks, shared_unmapped, length * bytes) != nullptr) return false;
    all_defined = all_defined && std::memchr(marks, 0, length * bytes) == nullptr;
  }
  for (std::uint64_t line = 0; line < lines && view.allocation != nullptr && view.allocation->lazy != nullptr; ++line)
    touch(warp, *view.allocation, within + line * plain.stride * bytes, length * bytes, false);
  const auto accesses = static_cast<std::uint64_t>(warp_lanes) * static_cast<std::uint64_t>(per_lane);
  warp.worker->unpaid.units += accesses * work_cost::lane_by_lane;
  if (view.bytes > work_cost::cached_bytes) warp.worker->unpaid.units += accesses * work_cost::cold_lane;
  plain.data = view.data + within;
  plain.defined = all_defined ? nullptr : view.defined + within;
  return true;
}

// Visits each element of a lane's wmma fragment with its address.
template <class Visit>
void for_fragment(Warp& warp, const Instruction& in, LaneMask active, Visit visit) {
  const MatrixOperation& matrix = matrix_of(warp, in);
  LaneMask unknown = warp.undefined_of(in.source[0]);
  if (matrix.stride != no_slot) unknown |= warp.undefined_of(matrix.stride);
  if ((unknown & active) != 0)
    report_undefined(warp, FindingKind::uninitialised_address, in, unknown & active, "the address of a matrix");
  std::uint64_t addresses[warp_lanes];
  addresses_of(warp, in, matrix.memory, addresses);
  const WmmaPlaces places(fragment_rows(matrix), fragment_columns(matrix), matrix.registers_d.size(), matrix.d);
  auto bytes = static_cast<std::uint32_t>(element_bytes(matrix.d));
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    std::uint64_t stride = stride_of(warp, matrix, lane);
    if (addresses[lane] % 16 != 0) {
      report_misaligned(warp, in, lane, addresses[lane], 16);
      return;
    }
    for (int e = 0; e < places.per_lane(); ++e) {
      Place place = places(lane, e);
      auto row = static_cast<std::uint64_t>(place.row), column = static_cast<std::uint64_t>(place.column);
      std::uint64_t index = matrix.a_column ? column * stride + row : row * stride + column;
      visit(lane, e, addresses[lane] + index * bytes, bytes);
    }
  }
}

}  // namespace

void run_wmma_load(Warp& warp, const Instruction& in, LaneMask active) {
  order_and_check(warp, in, active);
  if (warp.worker->launch->options.skips_products()) return;
  const MatrixOperation& matrix = matrix_of(warp, in);
  // The results may lie where the address did.
  std::vector<std::uint64_t> values(static_cast<std::size_t>(warp_lanes) * 64);
  std::vector<LaneMask> undefined(matrix.registers_d.size(), 0);
  int per = per_register(matrix.d);
  const auto number = [](int lane, int e) { return static_cast<std::size_t>(lane) * 64 + static_cast<std::size_t>(e); };
  const auto take = [&](int lane, int e, std::uint64_t value, bool unknown) {
    values[number(lane, e)] = value;
    if (unknown) undefined[static_cast<std::size_t>(e / per)] |= 1u << lane;
  };
  const WmmaPlaces places(fragment_rows(matrix), fragment_columns(matrix), matrix.registers_d.size(), matrix.d);
  PlainMatrix plain;
  if (find_plain(warp, in, matrix, active, places.per_lane(), plain)) {
    const auto bytes = static_cast<std::size_t>(element_bytes(matrix.d));
    for (int lane = 0; lane < warp_lanes; ++lane)
      for (int e = 0; e < places.per_lane(); ++e) {
        const Place place = places(lane, e);
        const auto row = static_cast<std::uint64_t>(place.row), column = static_cast<std::uint64_t>(place.column);
        const std::uint64_t at = (matrix.a_column ? column * plain.stride + row : row * plain.stride + column) * bytes;
        std::uint64_t value = 0;
        std::memcpy(&value, plain.data + at, bytes);
        take(lane, e, value, plain.defined != nullptr && std::memchr(plain.defined + at, 0, bytes) != nullptr);
      }
  } else {
    for_fragment(warp, in, active, [&](int lane, int e, std::uint64_t address, std::uint32_t bytes) {
      std::uint64_t value = 0;
      bool unknown = false;
      read_lane(warp, in, matrix.memory.space, address, lane, bytes, &value, unknown);
      take(lane, e, value, unknown);
    });
  }
  for (std::size_t r = 0; r < matrix.registers_d.size(); ++r) {
    LaneMask& mark = warp.undefined_of(matrix.registers_d[r]);
    mark = (mark & ~active) | undefined[r];
    for (LaneMask left = active; left != 0; left &= left - 1) {
      int lane = __builtin_ctz(left);
      for (int e = static_cast<int>(r) * per; e < (static_cast<int>(r) + 1) * per; ++e)
        set_element(warp, matrix.registers_d, matrix.d, lane, e, values[number(lane, e)]);
    }
  }
}

void run_wmma_store(Warp& warp, const Instruction& in, LaneMask active) {
  order_and_check(warp, in, active);
  if (warp.worker->launch->options.skips_products()) return;
  const MatrixOperation& matrix = matrix_of(warp, in);
  for_fragment(warp, in, active, [&](int lane, int e, std::uint64_t address, std::uint32_t bytes) {
    std::uint64_t value = get_element(warp, matrix.registers_d, matrix.d, lane, e);
    LaneMask unknown = warp.undefined_of(matrix.registers_d[static_cast<std::size_t>(e / per_register(matrix.d))]);
    write_lane(warp, in, matrix.memory.space, address, lane, bytes, &value, ((unknown >> lane) & 1) != 0);
  });
}

}  // namespace kw
