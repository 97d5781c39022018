#pragma once
// Writes kernels of contractions; for write_program()'s own sources only. contraction.cpp finds them, write_windows.cpp
// has what convolutions need, contraction_tiles.cpp the constants, contraction_text.cpp and contraction_halves.cpp the
// device functions that kernels share.

#include <optional>
#include <string>
#include <vector>

#include "agents/program/contraction.h"
#include "agents/program/program_writer.h"

namespace kw::program {

class ContractionWriter {
 public:
  explicit ContractionWriter(ProgramWriter& program)
      : program_(program), graph_(program.graph_), addressing_(program.addressing_), schedule_(program.schedule_) {}

  // False: the stage is no contraction, or too small for tiles, and not written.
  Result<bool> write(const Stage& stage);

 private:
  // Axes that are made from one number: `row` into those of the rows.
  struct Decoded {
    std::string flat;
    std::vector<std::int64_t> axes;
  };
  // Names of the constants and of what is in a kernel, none of them the task's.
  struct Names {
    std::string tile_m, tile_n, tile_k, warps_m, warps_n, stages, group, splits, threads;
  };

  // A factor that is read through a window; the other one is copied into `reordered` before.
  struct Windowed {
    bool left = false;
    std::int64_t channels = 0;       // axes of the sum: of the channels,
    std::vector<std::int64_t> taps;  // and of the window
    Extent step;                     // from a channel to the next
    std::string reordered;
  };

  std::optional<Contraction> find(const Stage& stage);
  static std::optional<Extent> step_of(const LinearOffset& offset, const std::vector<std::int64_t>& axes,
                                       const std::map<std::int64_t, Extent>& extents);
  Factor factor_of(TermId value, const std::vector<std::int64_t>& lines, const std::vector<std::int64_t>& places,
                   const std::map<std::int64_t, Extent>& extents) const;
  void move_outer_axes(Contraction& made, TermId left, TermId right) const;
  Arithmetic arithmetic_of(const Contraction& contraction) const;
  bool is_sensitive(NodeId id) const;
  ContractionSize size() const;
  bool names_are_free() const;

  Extent extent_of(std::int64_t axis) const;
  Extent extent_of(const std::vector<std::int64_t>& axes) const;
  void decode(KernelText& kernel, const Decoded& from, const std::string& lines) const;

  // Whether it travels as it is, without registers.
  bool is_copied(const Factor& factor) const;
  // Whether results of a row lie next to each other.
  bool cols_are_together() const;
  TermId offset_of_result();
  std::vector<std::pair<Extent, int>> whole_pieces() const;
  std::string whole_condition() const;
  Dtype type() const { return type_of(contraction_.arithmetic); }
  bool fits_a_grid() const;

  void name_constants();
  void write_factor(KernelText& kernel, const Factor& factor, bool left);
  bool find_window();
  std::string padded_depth() const;
  void decode_tile(KernelText& kernel, const std::string& within, const std::string& lines) const;
  void write_window(KernelText& kernel, const Factor& factor, bool left);
  void write_reordered(const Stage& stage);
  void write_results(KernelText& kernel, const Stage& stage);
  void write_kernel(const Stage& stage);
  void write_launch(const Stage& stage, const std::vector<std::string>& arguments) const;
  Result<void> write_products(const Stage& stage);
  Result<void> write_sum_of_parts(const Stage& stage);

  ProgramWriter& program_;
  Graph& graph_;
  Addressing& addressing_;
  const Schedule& schedule_;
  Contraction contraction_;
  ContractionTiles tiles_;
  Names names_;
  std::optional<Windowed> window_;
  std::string parts_;  // scratch for the parts of sums
};

}  // namespace kw::program
