#include "kernel/reference/torch/drawn_tensor.h"

#include "kernel/reference/torch/torch_tensors.h"

namespace kw {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 24;  // at a time: a dozen tensors of int64 are needed for it

std::int64_t as_signed(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

// Torch shifts int64 with its sign.
at::Tensor shifted(const at::Tensor& bits, int count) {
  return bits.bitwise_right_shift(count).bitwise_and(as_signed(~std::uint64_t{0} >> count));
}

// SplitMix64's, as in drawn_inputs.cpp: products of int64 wrap around.
at::Tensor mix(at::Tensor z) {
  z = z.bitwise_xor(shifted(z, 30)).mul_(as_signed(0xBF58476D1CE4E5B9u));
  z = z.bitwise_xor(shifted(z, 27)).mul_(as_signed(0x94D049BB133111EBu));
  return z.bitwise_xor(shifted(z, 31));
}

at::Tensor hash(const at::Tensor& place, std::uint64_t key) {
  return mix(place.mul(as_signed(0x9E3779B97F4A7C15u)).add_(as_signed(key)));
}

c10::ScalarType word_type(std::uint64_t bytes) {
  switch (bytes) {
    case 1:
      return c10::kByte;
    case 2:
      return c10::kShort;
    case 4:
      return c10::kInt;
    default:
      return c10::kLong;
  }
}

// A float whose last bits are drawn, too, unless that takes it out of its range.
at::Tensor with_drawn_bits(const at::Tensor& words, const at::Tensor& drawn, const DrawRecipe& recipe) {
  const bool single = recipe.kind == DrawRecipe::Kind::floats;
  const auto type = single ? c10::kFloat : c10::kDouble;
  const std::uint64_t free_bits = single ? 16 : 40;
  const at::Tensor free = shifted(drawn, 20).bitwise_and(as_signed((std::uint64_t{1} << free_bits) - 1));
  const at::Tensor bits = words.bitwise_xor(free.to(words.scalar_type()));
  at::Tensor stays = words.view(type).ne(0);
  if (recipe.has_range) {
    const auto limit = [&](double value) { return single ? static_cast<double>(static_cast<float>(value)) : value; };
    const at::Tensor changed = bits.view(type);
    stays = stays.logical_and(changed.ge(limit(recipe.low))).logical_and(changed.le(limit(recipe.high)));
  }
  return at::where(stays, bits, words);
}

at::Tensor drawn_piece(const DrawRecipe& recipe, const at::Tensor& table, const at::Tensor& place) {
  at::Tensor drawn = hash(place, recipe.key), index;
  if (recipe.line_elements == 0) {
    index = drawn.bitwise_and(as_signed(recipe.table_elements - 1));
  } else {
    const std::uint64_t part_elements = recipe.table_elements / recipe.parts;
    const at::Tensor number = place.div(as_signed(recipe.line_elements), "floor");
    const at::Tensor line = hash(number, ~recipe.key);
    const at::Tensor part = line.bitwise_and(as_signed(recipe.parts - 1));
    const at::Tensor steady =
        at::full_like(part, as_signed(recipe.steady_parts)).bitwise_right_shift(part).bitwise_and(1).ne(0);
    drawn = at::where(steady, mix(line.add(as_signed(0x9E3779B97F4A7C15u))), drawn);
    index = drawn.bitwise_and(as_signed(part_elements - 1)).add_(part.mul(as_signed(part_elements)));
  }
  const at::Tensor words = table.index_select(0, index);
  return recipe.kind == DrawRecipe::Kind::words ? words : with_drawn_bits(words, drawn, recipe);
}

// with_mantissa() of the judge's error bound, on float32.
at::Tensor with_mantissa(const at::Tensor& values, int bits) {
  const int dropped = 23 - bits;
  const at::Tensor raw = values.view(c10::kInt);
  const at::Tensor half = raw.bitwise_right_shift(dropped).bitwise_and(1).add_((1 << (dropped - 1)) - 1);
  const at::Tensor rounded = raw.add(half).bitwise_and(~((1 << dropped) - 1)).view(c10::kFloat);
  return at::where(values.isfinite(), rounded, values);
}

}  // namespace

at::Tensor drawn_tensor(const InputTensor& input, Device device) {
  const DrawRecipe& recipe = *input.recipe;
  const auto options = torch::TensorOptions(device == Device::gpu ? c10::kCUDA : c10::kCPU);
  const auto type = word_type(recipe.element_bytes);
  const at::Tensor table = torch::from_blob(const_cast<char*>(input.bytes.data()), {as_signed(recipe.table_elements)},
                                            torch::TensorOptions(type))
                               .to(options.device());
  at::Tensor made = at::empty(input.shape, options.dtype(type));
  const at::Tensor flat = made.view({-1});
  for (std::int64_t begin = 0; begin < flat.numel(); begin += piece_elements) {
    const std::int64_t end = std::min(begin + piece_elements, flat.numel());
    flat.slice(0, begin, end).copy_(drawn_piece(recipe, table, at::arange(begin, end, options.dtype(c10::kLong))));
  }
  return made.view(torch_type(input.dtype));
}

at::Tensor coarse_tensor(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case c10::kFloat:
      return with_mantissa(tensor, 10);
    case c10::kHalf:
      return with_mantissa(tensor.to(c10::kFloat), 7).to(c10::kHalf);
    case c10::kBFloat16:
      return with_mantissa(tensor.to(c10::kFloat), 4).to(c10::kBFloat16);
    case c10::kDouble:
      return tensor.to(c10::kFloat).to(c10::kDouble);
    default:
      return tensor;
  }
}

}  // namespace kw
