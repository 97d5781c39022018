#pragma once
// What kernels of pooling and convolutions share: indices, the loops over a window, the store. The kernels themselves
// are in write_window.cpp and write_convolution.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agents/grammar/row_phases.h"
#include "agents/grammar/writers.h"

namespace kw {

class WindowWriter {
 public:
  explicit WindowWriter(Draft& draft) : d_(draft), p_(draft.problem) {
    const auto& shape = p_.operands.front().shape;
    two_ = shape.size() == 4;
    batch_ = shape[0];
    channels_ = shape[1];
    height_ = two_ ? shape[2] : "";
    width_ = shape.back();
    convolution_ = p_.family == Family::conv1d || p_.family == Family::conv2d || p_.family == Family::depthwise_conv2d;
    depthwise_ = p_.family == Family::depthwise_conv2d;
    out_channels_ = p_.output_shape[1];
    oh_ = two_ ? d_.names.pick({"out_h", "oh", "H_out", "out_height"}) : "";
    ow_ = d_.names.pick({"out_w", "ow", "W_out", "out_len"});
    oy_ = two_ ? d_.names.pick({"oy", "out_y", "py"}) : "";
    ox_ = d_.names.pick({"ox", "out_x", "px"});
    b_ = d_.names.pick({"img", "b", "sample"});
    oc_ = d_.names.pick({"oc", "ch", "map"});
    sum_ = d_.names.pick({"sum", "acc", "total", "s"});
    ic_ = d_.names.pick({"ic", "ci", "in_c"});
    ky_ = d_.names.pick({"ky", "dy", "kh"});
    kx_ = d_.names.pick({"kx", "dx", "kw"});
    iy_ = d_.names.pick({"iy", "in_y", "yy"});
    ix_ = d_.names.pick({"ix", "in_x", "xx"});
    window_ = std::to_string(p_.window);
  }

  std::string write() {
    by_plane_ = d_.level != Level::naive && (depthwise_ || !convolution_);
    plane_ = d_.names.pick({"plane", "map_index", "layer"});
    switch (d_.level) {
      case Level::naive:
        return naive();
      case Level::coalesced:
        return planes();
      case Level::shared:
        return convolution_ ? shared_weights() : shared_line();
      default:
        return by_plane_ ? several_rows() : several_channels();
    }
  }

 private:
  // Output sizes are computed once, by the launcher.
  std::string setup() const {
    std::string lines;
    if (two_) lines += fmt::format("{} {} = {};\n", d_.local("int"), oh_, p_.output_shape[2]);
    return lines + fmt::format("{} {} = {};\n", d_.local("int"), ow_, p_.output_shape.back());
  }
  std::vector<std::string> sizes() const {
    std::vector<std::string> all = size_order(p_);
    if (two_) all.push_back(oh_);
    all.push_back(ow_);
    return all;
  }

  std::string input_place(const std::string& channel) const {
    if (by_plane_) {
      if (two_) return fmt::format("({} * {} + {}) * {} + {}", plane_, height_, iy_, width_, ix_);
      return fmt::format("{} * {} + {}", plane_, width_, ix_);
    }
    const std::string plane = fmt::format("{} * {} + {}", b_, channels_, channel);
    if (two_) return fmt::format("(({}) * {} + {}) * {} + {}", plane, height_, iy_, width_, ix_);
    return fmt::format("({}) * {} + {}", plane, width_, ix_);
  }
  std::string output_place(const std::string& channel) const {
    if (by_plane_) {
      if (two_) return fmt::format("({} * {} + {}) * {} + {}", plane_, oh_, oy_, ow_, ox_);
      return fmt::format("{} * {} + {}", plane_, ow_, ox_);
    }
    const std::string plane = fmt::format("{} * {} + {}", b_, out_channels_, channel);
    if (two_) return fmt::format("(({}) * {} + {}) * {} + {}", plane, oh_, oy_, ow_, ox_);
    return fmt::format("({}) * {} + {}", plane, ow_, ox_);
  }
  std::string weight_place(const std::string& channel) const {
    if (depthwise_) return fmt::format("({} * {} + {}) * {} + {}", channel, window_, ky_, window_, kx_);
    if (two_)
      return fmt::format("(({} * {} + {}) * {} + {}) * {} + {}", channel, channels_, ic_, window_, ky_, window_, kx_);
    return fmt::format("({} * {} + {}) * {} + {}", channel, channels_, ic_, window_, kx_);
  }

  std::string position(const std::string& out, const std::string& k) const {
    const std::string scaled = p_.stride == 1 ? out : fmt::format("{} * {}", out, p_.stride);
    return p_.padding == 0 ? fmt::format("{} + {}", scaled, k) : fmt::format("{} + {} - {}", scaled, k, p_.padding);
  }

  // Loops over the window around `lines`.
  std::string window(const std::string& lines) const {
    const auto axis = [&](const std::string& k, const std::string& at, const std::string& out, const std::string& limit,
                          const std::string& inner) {
      const std::string guard =
          p_.padding > 0 ? fmt::format("if ({0} < 0 || {0} >= {1}) continue;\n", at, limit) : std::string();
      return fill("for (int $k = 0; $k < $window; $inc) {\n  $int $at = $place;\n  $guard\n  $inner\n}\n",
                  Fields{{"k", k},
                         {"window", window_},
                         {"inc", d_.increment(k)},
                         {"int", d_.local("int")},
                         {"at", at},
                         {"place", position(out, k)},
                         {"guard", guard},
                         {"inner", inner}});
    };
    const std::string inner = axis(kx_, ix_, ox_, width_, lines);
    return two_ ? axis(ky_, iy_, oy_, height_, inner) : inner;
  }

  std::string over_channels(const std::string& lines) const {
    if (depthwise_) return lines;
    return fill("for (int $c = 0; $c < $channels; $inc) {\n  $lines\n}\n",
                Fields{{"c", ic_}, {"channels", channels_}, {"inc", d_.increment(ic_)}, {"lines", lines}});
  }

  // What the window gives, without the post expression; `weight` overrides how a weight is read.
  std::string core(const std::string& weight = "") {
    if (convolution_) {
      const std::string w = weight.empty() ? d_.load(1, weight_place(oc_)) : weight;
      const std::string x = d_.load(0, input_place(depthwise_ ? oc_ : ic_));
      return fmt::format("float {} = 0.0f;\n", sum_) +
             over_channels(window(fmt::format("{} += {} * {};\n", sum_, x, w)));
    }
    const Fold fold = maximum() ? Fold::maximum : Fold::sum;
    const auto value = d_.element(p_.pre, [&](const Operand&) { return input_place(oc_); });
    return fmt::format("float {} = {};\n", sum_, fold_start(d_, fold)) +
           window(value.lines + fold_step(d_, fold, sum_, value.value));
  }

  bool maximum() const { return p_.family == Family::max_pool1d || p_.family == Family::max_pool2d; }

  std::string result() const {
    if (convolution_ || maximum()) return sum_;
    const int count = two_ ? p_.window * p_.window : p_.window;
    return fmt::format("{} / {}.0f", sum_, count);
  }

  std::string store(const std::string& value, const std::string& channel) {
    Names::Scope scope(d_.names);
    std::string lines, name = value;
    if (value.find(' ') != std::string::npos && !p_.post.trivial()) {
      name = d_.names.pick({"avg", "mean_v", "m_v"});
      lines = fmt::format("{} {} = {};\n", d_.local("float"), name, value);
    }
    const std::string place = output_place(channel);
    const auto code =
        d_.element(p_.post, [&](const Operand& o) { return o.label == "channel" ? channel : place; }, name);
    return lines + code.lines + fmt::format("{}[{}] = {};\n", d_.out, place, d_.to_output(code.value));
  }

  std::string total() const {
    std::string text = batch_ + " * " + out_channels_;
    if (two_) text += " * " + oh_;
    return text + " * " + ow_;
  }

  // Which image and channel a block works on, read from this axis of the grid.
  std::string plane_head(const std::string& channels, std::string axis = "") const {
    if (axis.empty()) axis = two_ ? "z" : "y";
    if (by_plane_) {
      std::string line = fmt::format("{} {} = blockIdx.{};\n", d_.local("int"), plane_, axis);
      const bool channel = depthwise_ || std::any_of(p_.operands.begin(), p_.operands.end(),
                                                     [](const Operand& o) { return o.label == "channel"; });
      if (channel) line += fmt::format("{} {} = {} % {};\n", d_.local("int"), oc_, plane_, channels);
      return line;
    }
    return fmt::format("{0} {1} = blockIdx.{2} / {3};\n{0} {4} = blockIdx.{2} % {3};\n", d_.local("int"), b_, axis,
                       channels, oc_);
  }
  std::string coordinates() const {
    std::string lines = fmt::format("{} {} = {};\n", d_.local("int"), ox_, d_.thread_index("x"));
    if (two_) lines += fmt::format("{} {} = {};\n", d_.local("int"), oy_, d_.thread_index("y"));
    return lines;
  }
  std::string outside() const {
    return two_ ? fmt::format("{} >= {} || {} >= {}", ox_, ow_, oy_, oh_) : ox_ + " >= " + ow_;
  }
  std::string grid(const std::string& planes) {
    if (!two_) return fmt::format("dim3({}, {})", d_.ceil_div(ow_, "128"), planes);
    return fmt::format("dim3({}, {}, {})", d_.ceil_div(ow_, "32"), d_.ceil_div(oh_, "8"), planes);
  }
  std::string block() const { return two_ ? "dim3(32, 8)" : "128"; }

  // One for each level.
  std::string naive();
  std::string planes();
  std::string several_rows();
  std::string shared_line();
  std::string shared_weights();
  std::string several_channels();
  // The launcher with dynamic shared memory.
  static std::string with_shared(std::string launcher, const std::string& bytes);

  Draft& d_;
  const Problem& p_;
  bool two_ = false, convolution_ = false, depthwise_ = false;
  bool by_plane_ = false;  // images and channels are one axis, as nothing reaches from one channel to another
  std::string batch_, channels_, height_, width_, out_channels_, oh_, ow_, oy_, ox_, b_, oc_, sum_, ic_, ky_, kx_, iy_,
      ix_, window_, plane_;
};

}  // namespace kw
