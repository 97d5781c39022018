#include "model/arithmetic/attention.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/check.h"
#include "model/arithmetic/kernels.h"

namespace kw {

void write_token(const AttentionShape& shape, const KvPage& page, std::int64_t slot, const float* key,
                 const float* value) {
  for (std::int64_t i = 0; i < shape.kv_heads * shape.head_dim; ++i) page.keys[i * page_tokens + slot] = key[i];
  for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
    std::copy_n(value + head * shape.head_dim, shape.head_dim,
                page.values + (head * page_tokens + slot) * shape.head_dim);
  }
}

void attend(ThreadTeam& team, const AttentionShape& shape, std::span<const AttentionRows> sequences) {
  KW_CHECK(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
  constexpr std::int64_t block = 16;  // rows that read a page together
  std::vector<AttentionPart> parts;
  std::int64_t work = 0;
  for (const AttentionRows& sequence : sequences) {
    KW_CHECK(static_cast<std::int64_t>(sequence.pages.size()) * page_tokens >= sequence.first_position + sequence.rows);
    // The last rows see the most keys: they come first, so that threads finish together.
    for (std::int64_t first = (sequence.rows - 1) / block * block; first >= 0; first -= block) {
      const std::int64_t rows = std::min(block, sequence.rows - first);
      work += rows * (sequence.first_position + first + rows) * shape.heads * shape.head_dim;
      for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
        parts.push_back({.shape = &shape, .sequence = &sequence, .kv_head = head, .first_row = first, .rows = rows});
      }
    }
  }
  const Kernels& unit = kernels();
  const auto body = [&](std::int64_t i) { unit.attend(parts[i]); };
  if (work < 20000) {
    for (std::size_t i = 0; i < parts.size(); ++i) body(static_cast<std::int64_t>(i));
  } else {
    team.run(static_cast<std::int64_t>(parts.size()), std::ref(body));
  }
}

void attend_gradient(ThreadTeam& team, const AttentionShape& shape, std::span<const AttentionGradient> sequences) {
  KW_CHECK(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
  std::vector<AttentionGradientPart> parts;
  for (const AttentionGradient& sequence : sequences) {
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
      parts.push_back({.shape = &shape, .sequence = &sequence, .kv_head = head});
    }
  }
  // The longest first, so that threads finish together.
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.sequence->rows > b.sequence->rows; });
  const Kernels& unit = kernels();
  team.run(static_cast<std::int64_t>(parts.size()), [&](std::int64_t i) { unit.attend_gradient(parts[i]); });
}

}  // namespace kw
