#include "agents/draw/held_graphs.h"

#include <algorithm>
#include <array>

namespace kw::draw {
namespace {

constexpr std::uint64_t signatures[] = {
    0x0000000000000000ULL,
};

}  // namespace

std::span<const std::uint64_t> held_graphs() { return signatures; }

bool is_held_out(std::uint64_t signature) {
  return std::binary_search(std::begin(signatures), std::end(signatures), signature);
}

}  // namespace kw::draw
