#pragma once
// Writes kernels of attention; for write_program()'s own sources only. attention.cpp finds them, attention_tiles.cpp
// has the constants, attention_text.cpp the device functions that kernels share.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agents/program/attention.h"
#include "agents/program/program_writer.h"

namespace kw::program {

class AttentionWriter {
 public:
  explicit AttentionWriter(ProgramWriter& program)
      : program_(program), graph_(program.graph_), addressing_(program.addressing_) {}

  // Those that have a kernel.
  std::map<NodeId, Attention> find();
  std::set<NodeId> kept_in_16_bits(const Attention& attention);
  Result<void> write(const Stage& stage, const Attention& attention);

 private:
  // Queries, keys or values as a kernel reads them: element (line, k) of a head is name[base + line * step + k].
  struct Source {
    std::string name;
    bool scratch = false;
    NodeId tensor = -1;
    TermId base = -1;
    Extent step;
  };
  // A kernel, with the names of its constants.
  struct Form {
    AttentionForm form;
    AttentionTiles tiles;
    std::string tile_q, tile_k, warps, stages, kept;
  };

  bool can_write(const Attention& attention) const;
  Extent extent_of(std::int64_t axis) const;
  std::string local(std::string name) const;
  std::vector<AxisExtent> batch() const;
  std::optional<Source> source_in_place(TermId element, std::int64_t line, std::int64_t place);
  Source source_of(const Stage& stage, const char* what, TermId element, std::int64_t line, std::int64_t place);
  void write_packed(const std::string& name, TermId element, const std::vector<AxisExtent>& axes, bool in_parts);
  void need_multiple(TermId offset);
  void need_multiple(const Extent& extent, int width);
  void find_forms();
  void name_constants();
  std::string score_text(KernelText& kernel, const std::string& row, const std::string& key, const std::string& sum);
  std::string result_text(KernelText& kernel, const Stage& stage, const std::string& row, const std::string& col);
  void write_kernel(const Stage& stage, const std::vector<Source>& sources);
  void write_launches(const Stage& stage, const std::vector<std::string>& arguments);

  ProgramWriter& program_;
  Graph& graph_;
  Addressing& addressing_;
  Attention attention_;
  int parts_ = 1;
  std::vector<Form> forms_;               // from small heads to large ones
  std::map<std::string, int> multiples_;  // what must be divisible by what, so that no piece of 16 bytes is cut
  bool never_whole_ = false;
};

}  // namespace kw::program
