#include "model/decoder/shared_step.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"

namespace kw {
namespace {

constexpr std::uint64_t longest_statement = 1 << 20;
constexpr int most_levels = 10;  // 1 << 10 slots

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// What a rank says before gradients are exchanged: what it has used, which nodes of the tree it has, what it starts
// from.
struct Statement {
  std::vector<bool> used;  // by part
  std::vector<SlotNode> nodes;
  std::uint64_t values = 0;  // checksum; 0: not looked at
};

Statement statement_of(std::span<TrainablePart* const> parts, bool look) {
  Statement statement;
  for (TrainablePart* part : parts) statement.used.push_back(part->used);
  if (!parts.empty())
    for (const auto& slot : parts.front()->slot_gradients()) statement.nodes.push_back(slot.node);
  if (!look) return statement;
  Checksum64 sum;
  for (const TrainablePart* part : parts) {
    const auto bytes = std::as_bytes(part->values());
    sum.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  statement.values = sum.value();
  return statement;
}

std::string written(const Statement& statement) {
  ByteWriter writer;
  writer.number(statement.used.size());
  for (const bool used : statement.used) writer.number(used ? 1 : 0);
  writer.number(statement.nodes.size());
  for (const SlotNode& node : statement.nodes) {
    writer.number(static_cast<std::uint64_t>(node.level));
    writer.number(static_cast<std::uint64_t>(node.index));
  }
  writer.number(statement.values);
  return writer.take();
}

Result<Statement> read(const std::string& bytes, std::size_t parts, int rank) {
  ByteReader reader(bytes);
  Statement statement;
  const bool fits = reader.number() == parts;
  for (std::size_t i = 0; fits && i < parts; ++i) statement.used.push_back(reader.count(1) == 1);
  const std::uint64_t nodes = reader.count(most_slots);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const int level = static_cast<int>(reader.count(most_levels));
    statement.nodes.push_back({level, static_cast<std::int64_t>(reader.count(most_slots - 1))});
  }
  statement.values = reader.number();
  if (!fits || !reader.complete())
    return Error{
        "rank " + std::to_string(rank) + " trains something else", "start all ranks with the same arguments", {}};
  return statement;
}

Result<std::vector<Statement>> exchange_statements(Communicator* ranks, const Statement& mine) {
  if (rank_count(ranks) == 1) return std::vector<Statement>{mine};
  KW_TRY(const auto all, ranks->all_gather(written(mine), longest_statement));
  std::vector<Statement> statements;
  for (int rank = 0; rank < ranks->size(); ++rank) {
    KW_TRY(Statement statement, read(all[at(rank)], mine.used.size(), rank));
    if (statement.values != mine.values)
      return Error{"rank " + std::to_string(rank) + " has other weights than rank " + std::to_string(ranks->rank()),
                   "all ranks must read the same model's files and the same checkpoint",
                   {}};
    statements.push_back(std::move(statement));
  }
  return statements;
}

// All ranks' nodes must be one whole tree, in the order of ranks.
Result<void> check_tree(const std::vector<Statement>& statements) {
  struct Node {
    SlotNode node;
  };
  std::vector<Node> nodes;
  for (const Statement& statement : statements)
    for (const SlotNode& node : statement.nodes) append_slot(nodes, Node{node}, [](Node&, Node&) {});
  if (nodes.size() == 1 && nodes.front().node.begin() == 0) return {};
  return Error{"the ranks do not have each slot of the step once", "start all ranks with the same arguments", {}};
}

// One stretch of some node.
struct Stretch {
  SlotNode node;
  std::vector<float> values;
};

Result<void> reduce_part(Communicator& ranks, const std::vector<Statement>& statements, TrainablePart& part) {
  std::vector<std::int64_t> pieces;
  std::vector<SlotNode> nodes;
  for (const Statement& statement : statements) {
    pieces.push_back(static_cast<std::int64_t>(statement.nodes.size()));
    nodes.insert(nodes.end(), statement.nodes.begin(), statement.nodes.end());
  }
  const auto piece = [&](std::int64_t index, ShareRange range) {
    const std::span<const float> values = part.slot_gradients()[at(index)].values;
    return values.subspan(at(range.begin), at(range.size()));
  };
  const auto add = [&](std::span<const float* const> addends, ShareRange range) {
    std::vector<Stretch> sums;
    for (std::size_t i = 0; i < addends.size(); ++i) {
      append_slot(sums, Stretch{nodes[i], {addends[i], addends[i] + range.size()}},
                  [](Stretch& left, const Stretch& right) {
                    for (std::size_t element = 0; element < left.values.size(); ++element)
                      left.values[element] += right.values[element];
                  });
    }
    std::ranges::copy(sums.front().values, part.gradient().begin() + range.begin);
  };
  return ranks.reduce_scatter(pieces, part.shares(), piece, add);
}

}  // namespace

Result<void> reduce_gradients(Communicator* ranks, std::span<TrainablePart* const> parts, bool look) {
  KW_TRY(const std::vector<Statement> statements, exchange_statements(ranks, statement_of(parts, look)));
  KW_TRY_VOID(check_tree(statements));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    TrainablePart& part = *parts[i];
    part.used = std::ranges::any_of(statements, [&](const Statement& statement) { return statement.used[i]; });
    if (!part.used) continue;
    if (rank_count(ranks) == 1) {
      part.take_only_slot();
    } else {
      KW_TRY_VOID(reduce_part(*ranks, statements, part));
    }
  }
  return {};
}

Result<double> gradient_squares(ThreadTeam& team, Communicator* ranks, const TrainablePart& part) {
  const std::vector<double> mine = part.squares_of_pieces(team);
  const std::vector<std::int64_t> counts = part.piece_counts();
  std::vector<ShareRange> ranges;
  std::int64_t pieces = 0;
  for (const std::int64_t count : counts) {
    ranges.push_back({pieces * 8, (pieces + count) * 8});
    pieces += count;
  }
  std::vector<double> all(at(pieces));
  std::ranges::copy(mine, all.begin() + ranges[at(rank_number(ranks))].begin / 8);
  if (rank_count(ranks) > 1) KW_TRY_VOID(ranks->all_gather(std::as_writable_bytes(std::span(all)), ranges));
  double sum = 0;
  for (const double square : all) sum += square;
  return sum;
}

Result<void> gather_values(Communicator& ranks, std::span<TrainablePart* const> parts) {
  if (ranks.size() == 1) return {};
  for (TrainablePart* part : parts) {
    if (!part->used) continue;
    std::vector<ShareRange> ranges;
    for (const ShareRange& share : part->shares()) ranges.push_back({share.begin * 4, share.end * 4});
    KW_TRY_VOID(ranks.all_gather(std::as_writable_bytes(part->values()), ranges));
  }
  return {};
}

}  // namespace kw
