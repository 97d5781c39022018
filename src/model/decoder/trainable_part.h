#pragma once
// Something that is trained as a whole: the base, one adapter, or the value head. Flat values, their gradient, and the
// moments of AdamW in 32 or 8 bits. Matrices may be Muon's: its momentum lies where their first moment would.
//
// Ranks share a part: each has all values, and the moments of its own range alone. Ranges are cut between pieces, which
// do not depend on how many ranks there are: a matrix of Muon's, or 16384 other elements.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/arithmetic/muon.h"
#include "model/arithmetic/optimizer.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/parameters.h"
#include "model/distributed/slots.h"

namespace kw {

// 8 bits: blocks of 256 elements share a largest magnitude, an element is an index into bitsandbytes' dynamic map
// (model/weights/nf4.h). Of the second moment the root is stored, and never as zero unless it is zero: dividing by a
// moment that was rounded away would throw a weight out of the model. (8-bit optimizers: arXiv 2110.02861)
inline constexpr std::int64_t moment_block = 256;

// Weights of the linear layers, ascending: what Muon moves of a base.
std::vector<MuonMatrix> linear_weights(const ModelDescription& description, const ParameterLayout& layout);

// Which of the ranks that share a part this one is.
struct PartOwner {
  int rank = 0, size = 1;
};

class TrainablePart {
 public:
  // [begin, end) ranges of elements to which weight decay applies, ascending.
  struct Range {
    std::int64_t begin = 0, end = 0;
  };
  // `values` must stay where they are. `matrices`: those that Muon moves, ascending; they decay, whatever `decayed`
  // says. Their second moment is there and stays zero: every array has the layout of the values.
  TrainablePart(std::string name, std::span<float> values, std::vector<Range> decayed, bool eight_bit,
                std::vector<MuonMatrix> matrices = {}, PartOwner owner = {});

  const std::string& name() const { return name_; }
  std::span<float> values() const { return values_; }
  std::span<float> gradient() { return gradient_; }
  // A part that no batch used since the last step is not moved, as PyTorch leaves parameters without a gradient alone.
  bool used = false;
  std::int64_t steps = 0;  // that moved this part

  void clear_gradient(ThreadTeam& team);
  bool has_muon() const { return has_muon_; }
  // Moves the own range. `step.step` is set here.
  void move(ThreadTeam& team, AdamWStep step, const MuonStep& muon_step = {});

  // For checkpoints: every array that the next step depends on, by name. The spans cover the arrays themselves.
  struct Array {
    std::string name;
    std::span<std::byte> bytes;
    bool is_float = true;  // else u8
    bool is_gradient = false;
    std::vector<ShareRange> shares = {};  // bytes of the whole array that each rank has; empty: all have all of it
  };
  std::vector<Array> arrays();
  std::int64_t moment_bytes();  // of the own range

  // Elements of each rank, without gaps.
  const std::vector<ShareRange>& shares() const { return shares_; }
  ShareRange own() const { return shares_[static_cast<std::size_t>(owner_.rank)]; }
  // Sums of squares of the gradient, one for each piece of the own range; and how many pieces each rank has.
  std::vector<double> squares_of_pieces(ThreadTeam& team) const;
  std::vector<std::int64_t> piece_counts() const;

  // What was added to the gradient since the last time is a slot's; slots come in ascending order.
  struct SlotGradient {
    SlotNode node;
    std::vector<float> values;
  };
  void end_slot(ThreadTeam& team, std::int64_t slot);
  const std::vector<SlotGradient>& slot_gradients() const { return slot_gradients_; }
  // Of a process that has all slots: their sum becomes the gradient.
  void take_only_slot();

 private:
  void set_ranges(const std::vector<Range>& decayed);
  void cut_into_pieces();
  void keep_own_range();
  void move_eight_bit(ThreadTeam& team, const AdamWStep& step, std::int64_t begin, std::int64_t end);
  template <class T>
  std::span<T> own_part(std::span<T> all) const {
    return all.subspan(static_cast<std::size_t>(own().begin), static_cast<std::size_t>(own().size()));
  }

  std::string name_;
  std::span<float> values_;
  PartOwner owner_;
  bool has_muon_ = false, eight_bit_ = false;
  std::vector<Range> pieces_;  // of all ranks
  std::vector<ShareRange> shares_;
  struct AdamWRange : Range {
    bool decays = false;
  };
  // Of the own range, counted from its beginning: all elements but those of matrices_, ascending.
  std::vector<AdamWRange> ranges_;
  std::vector<MuonMatrix> matrices_;
  MuonScratch muon_scratch_;
  std::vector<float> gradient_;
  std::vector<SlotGradient> slot_gradients_;
  std::vector<std::vector<float>> spare_;  // buffers of slots that were added
  // Of the own range.
  std::vector<float> first_, second_;                   // 32 bits
  std::vector<std::uint8_t> first_code_, second_code_;  // 8 bits
  std::vector<float> first_largest_, second_largest_;   // one for each block
  std::vector<float> first_scratch_, second_scratch_;
};

}  // namespace kw
