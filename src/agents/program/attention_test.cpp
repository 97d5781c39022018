#include "agents/program/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agents/program/test_asked.h"
#include "base/random.h"
#include "base/test_length.h"

namespace kw::program {
namespace {

Asked attention(std::vector<std::string> before, const std::string& body) {
  Asked asked;
  asked.dtype = "float16";
  asked.before = std::move(before);
  asked.body = body;
  asked.inputs = {"q: [b, h, t, d]", "k: [b, h, t, d]", "v: [b, h, t, d]"};
  asked.output = "[b, h, t, d]";
  asked.small = "{b: 2, h: 2, t: 67, d: 40}, {b: 1, h: 3, t: 96, d: 64}, {b: 1, h: 1, t: 33, d: 20}";
  asked.train = "{b: 2, h: 4, t: 512, d: 64}";
  return asked;
}

const std::string scores_line = "s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])";

struct Spelling {
  const char* name;
  Asked asked;
  bool computed;  // scores that are more than a product and its scale
  bool causal;
};

std::vector<Spelling> spellings() {
  std::vector<Spelling> made;
  made.push_back({"call", attention({}, "F.scaled_dot_product_attention(q, k, v)"), false, false});
  made.push_back(
      {"causal call", attention({}, "F.scaled_dot_product_attention(q, k, v, is_causal=True)"), false, true});
  made.push_back({"softmax", attention({scores_line}, "torch.softmax(s, dim=-1) @ v"), false, false});
  made.push_back({"by hand",
                  attention({scores_line, "e = torch.exp(s - s.max(-1, keepdim=True).values)"},
                            "(e / e.sum(-1, keepdim=True)) @ v"),
                  false, false});
  made.push_back({"in float32",
                  attention({"s = torch.matmul(q, k.transpose(2, 3)) * (q.size(-1) ** -0.5)"},
                            "torch.matmul(F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype), v)"),
                  false, false});
  made.push_back({"tril",
                  attention({scores_line, "m = torch.tril(torch.ones(q.size(2), q.size(2)))",
                             "s = s.masked_fill(m == 0, float('-inf'))"},
                            "F.softmax(s, dim=-1) @ v"),
                  false, true});
  Asked low = attention({"s = (q * 0.125) @ k.transpose(-2, -1)",
                         "m = torch.triu(torch.ones(q.size(2), q.size(2), dtype=torch.bool), diagonal=1)"},
                        "s.masked_fill(m, -1e9).softmax(-1) @ v");
  low.dtype = "bfloat16";
  made.push_back({"triu of a low number", low, false, true});
  low.body = "s.masked_fill(m, -10000.0).softmax(-1) @ v";  // which a score may be as well
  made.push_back({"triu of a number", low, true, false});
  made.push_back({"added triu",
                  attention({scores_line,
                             "m = torch.triu(torch.full((q.size(2), q.size(2)), float('-inf'), "
                             "dtype=q.dtype), diagonal=1)"},
                            "F.softmax(s + m, -1) @ v"),
                  false, true});
  made.push_back({"arange",
                  attention({scores_line, "i = torch.arange(q.size(2))",
                             "s = torch.where(i[:, None] >= i[None, :], s, float('-inf'))"},
                            "F.softmax(s, -1) @ v"),
                  false, true});
  made.push_back({"bias",
                  attention({scores_line, "i = torch.arange(q.size(2))", "s = s + (i[None, :] - i[:, None]) * 0.05",
                             "s = s.masked_fill(i[None, :] > i[:, None], float('-inf'))"},
                            "s.softmax(-1).to(q.dtype) @ v"),
                  true, true});
  Asked einsum = attention({"s = torch.einsum('bqhd,bkhd->bhqk', q, k) * 0.125"},
                           "torch.einsum('bhqk,bkhd->bqhd', s.softmax(-1), v)");
  for (std::string& input : einsum.inputs) input.replace(3, std::string::npos, "[b, t, h, d]");
  einsum.output = "[b, t, h, d]";
  made.push_back({"einsum", einsum, false, false});
  Asked flat = attention({}, "torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.1, 2), v)");
  for (std::string& input : flat.inputs) input.replace(3, std::string::npos, "[b, t, d]");
  flat.output = "[b, t, d]";
  flat.small = "{b: 2, t: 67, d: 40}, {b: 1, t: 96, d: 64}";
  flat.train = "{b: 8, t: 512, d: 64}";
  made.push_back({"one head", flat, false, false});
  Asked mask = attention({}, "F.scaled_dot_product_attention(q, k, v, attn_mask=m)");
  mask.inputs.push_back("m: [b, 1, t, t]");
  made.push_back({"a mask that is added", mask, true, false});
  made.push_back({"rows that see nothing",
                  attention({"i = torch.arange(q.size(2))", "m = (i[:, None] % 3 != 1) & (i[None, :] % 2 == 0)"},
                            "F.scaled_dot_product_attention(q, k, v, attn_mask=m)"),
                  true, false});
  return made;
}

std::vector<Spelling> shapes() {
  std::vector<Spelling> made;
  const std::string causal = "F.scaled_dot_product_attention(q, k, v, is_causal=True)";
  Asked groups = attention({"k = k.repeat_interleave(2, dim=1)", "v = v.repeat_interleave(2, dim=1)"}, causal);
  groups.inputs = {"q: [b, \"2 * g\", t, d]", "k: [b, g, t, d]", "v: [b, g, t, d]"};
  groups.output = "[b, \"2 * g\", t, d]";
  groups.small = "{b: 2, g: 2, t: 67, d: 40}, {b: 1, g: 1, t: 96, d: 64}";
  groups.train = "{b: 2, g: 2, t: 512, d: 64}";
  made.push_back({"groups of heads", groups, false, true});
  groups.before.clear();
  groups.body = "F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)";
  made.push_back({"groups of heads, called", groups, false, true});
  Asked cross = attention({}, "F.scaled_dot_product_attention(q, k, v)");
  cross.inputs = {"q: [b, h, t, d]", "k: [b, h, n, d]", "v: [b, h, n, e]"};
  cross.output = "[b, h, t, e]";
  cross.small = "{b: 2, h: 2, t: 37, n: 90, d: 40, e: 24}, {b: 1, h: 3, t: 96, n: 65, d: 64, e: 48}";
  cross.train = "{b: 2, h: 4, t: 256, n: 512, d: 64, e: 48}";
  made.push_back({"other keys", cross, false, false});
  Asked shifted = cross;
  shifted.before = {"m = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril(k.size(2) - q.size(2))"};
  shifted.body = "F.scaled_dot_product_attention(q, k, v, attn_mask=m)";
  made.push_back({"the last queries", shifted, false, true});
  Asked shared = attention({"s = torch.einsum('bhqd,bkd->bhqk', q, k) * 0.125"},
                           "torch.einsum('bhqk,bkd->bhqd', s.softmax(-1), v)");
  shared.inputs = {"q: [b, h, t, d]", "k: [b, t, d]", "v: [b, t, d]"};
  made.push_back({"one head of keys", shared, false, false});
  for (const int head : {32, 80, 96, 128, 256}) {
    Asked sized = attention({}, causal);
    for (std::string& input : sized.inputs) input.replace(3, std::string::npos, fmt::format("[b, h, t, {}]", head));
    sized.output = fmt::format("[b, h, t, {}]", head);
    sized.dtype = head % 32 == 0 ? "bfloat16" : "float16";
    sized.small = "{b: 1, h: 2, t: 131}, {b: 1, h: 1, t: 64}";
    sized.train = "{b: 2, h: 4, t: 512}";
    made.push_back({"head", sized, false, true});
  }
  return made;
}

// Queries, keys and values from a product, and another product behind.
Asked layer() {
  Asked asked;
  asked.dtype = "float16";
  asked.inputs = {"x: [b, t, \"32 * h\"]", "w: [\"96 * h\", \"32 * h\"]", "p: [\"32 * h\", \"32 * h\"]"};
  asked.output = "[b, t, \"32 * h\"]";
  asked.before = {"b, t, c = x.shape", "q, k, v = F.linear(x, w).split(c, dim=2)"};
  for (const char* name : {"q", "k", "v"})
    asked.before.push_back(fmt::format("{0} = {0}.view(b, t, c // 32, 32).transpose(1, 2)", name));
  asked.before.push_back("y = F.scaled_dot_product_attention(q, k, v, is_causal=True)");
  asked.before.push_back("y = y.transpose(1, 2).contiguous().view(b, t, c)");
  asked.body = "F.linear(y, p)";
  asked.small = "{b: 2, t: 67, h: 2}, {b: 1, t: 96, h: 1}";
  asked.train = "{b: 2, t: 512, h: 8}";
  return asked;
}

TEST(Attentions, AreFoundHoweverTheyAreWritten) {
  for (const auto& all : {spellings(), shapes()})
    for (const Spelling& each : all) {
      const std::string kernel = kernel_of(task_of(each.asked));
      EXPECT_EQ(count(kernel, "  attend<"), 1) << each.name << "\n" << kernel;
      EXPECT_EQ(count(kernel, "__global__"), 1) << each.name << "\n" << kernel;
      EXPECT_EQ(count(kernel, ", whole, true, head_tile"), each.computed ? 1 : 0) << each.name << "\n" << kernel;
      EXPECT_EQ(count(kernel, "Those that see most"), each.causal ? 1 : 0) << each.name << "\n" << kernel;
    }
}

TEST(Attentions, AreNotWhatIsOnlyLikeThem) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> others = {
      {{scores_line}, "torch.softmax(s, dim=-2) @ v"},                                 // over the queries
      {{scores_line, "p = torch.softmax(s, -1)"}, "p @ v + p.sum(-1, keepdim=True)"},  // weights are used again
      {{scores_line}, "torch.softmax(s, -1) @ v + s.amax(-1, keepdim=True)"},          // scores are
      {{scores_line}, "torch.sigmoid(s) @ v"},                                         // no softmax
      {{scores_line, "e = torch.exp(s - s.amax(-2, keepdim=True))"}, "(e / e.sum(-1, keepdim=True)) @ v"},
      {{scores_line, "e = torch.exp(s - s.amax(-1, keepdim=True))"}, "(e / e.sum(-2, keepdim=True)) @ v"},
  };
  for (const auto& [before, body] : others) {
    const std::string kernel = kernel_of(task_of(attention(before, body)));
    EXPECT_EQ(count(kernel, "attend<"), 0) << body << "\n" << kernel;
  }
}

TEST(Attentions, AreLeftAloneWhereTilesDoNotPay) {
  Asked one_query = attention({}, "F.scaled_dot_product_attention(q, k, v)");
  one_query.inputs[0] = "q: [b, h, 1, d]";
  one_query.output = "[b, h, 1, d]";
  EXPECT_EQ(count(kernel_of(task_of(one_query)), "attend<"), 0);
  Asked large = attention({}, "F.scaled_dot_product_attention(q, k, v)");
  large.train = "{b: 2, h: 4, t: 512, d: 264}";
  EXPECT_EQ(count(kernel_of(task_of(large)), "attend<"), 0);
  Asked named = attention({}, "F.scaled_dot_product_attention(q, k, warps)");
  named.inputs[2] = "warps: [b, h, t, d]";
  EXPECT_EQ(count(kernel_of(task_of(named)), "attend<"), 0);
  Asked strict = attention({}, "F.scaled_dot_product_attention(q, k, v)");
  strict.dtype = "float64";
  EXPECT_EQ(count(kernel_of(task_of(strict)), "attend<"), 0);
}

// What a layer does around it costs no pass of its own, but for the order of what is rounded.
TEST(Attentions, HaveTheirResultInTheOrderThatIsWanted) {
  Asked asked = attention({"y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)"},
                          "y.reshape(q.size(0), q.size(2), q.size(1) * q.size(3))");
  asked.output = "[b, t, \"h * d\"]";
  const std::string kernel = kernel_of(task_of(asked));
  EXPECT_EQ(count(kernel, "__global__"), 1) << kernel;
  const std::string whole = kernel_of(task_of(layer()));
  EXPECT_EQ(count(whole, "  attend<"), 1) << whole;
  EXPECT_EQ(count(whole, " block_at<"), 2) << whole;
  EXPECT_EQ(count(whole, "_order("), 3) << whole;
}

// A score's rounding error would be as large as PyTorch's, and an exponential of it many times that.
TEST(Attentions, TakeRoundedQueriesAndKeysInParts) {
  const std::string rounded = kernel_of(task_of(attention({"q = q * q"}, "F.scaled_dot_product_attention(q, k, v)")));
  EXPECT_EQ(count(rounded, "_order("), 2) << rounded;
  Asked single = attention({}, "F.scaled_dot_product_attention(q, k, v)");
  single.dtype = "float32";
  const std::string parts = kernel_of(task_of(single));
  EXPECT_EQ(count(parts, "_order("), 3) << parts;
  EXPECT_EQ(count(parts, "attend<__nv_bfloat16, whole, false, head_tile, head_tile_v, 3, 2,"), 1) << parts;
  const std::string exact = kernel_of(task_of(attention({"q = q * 0.5"}, "F.scaled_dot_product_attention(q, k, v)")));
  EXPECT_EQ(count(exact, "_order("), 0) << exact;
}

// Copies of a tile, fragments of a warp, and the shared memory of 99 KiB that GPUs have.
TEST(Attentions, HaveTilesThatFit) {
  for (const int parts : {1, 2, 3})
    for (int head = 16; head <= std::min(256, 384 / parts); head += 16)
      for (int head_v = 16; head_v <= 256; head_v += 16)
        for (const bool computed : {true, false}) {
          const AttentionForm form{head, head_v, parts, parts == 3 ? 2 : 1, computed};
          const AttentionTiles tiles = attention_tiles(form);
          EXPECT_EQ(tiles.tile_q % (16 * tiles.warps), 0);
          EXPECT_EQ(tiles.tile_k % 16, 0);
          EXPECT_GE(tiles.stages, 2);
          EXPECT_TRUE(!tiles.kept || parts == 1);
          EXPECT_LE(tiles.bytes(form), 99 << 10) << head << " " << head_v << " " << parts;
        }
}

void expect_right(Judged& judged, const std::string& name, const Asked& asked) {
  const std::string kernel = kernel_of(task_of(asked));
  ASSERT_EQ(count(kernel, "  attend<"), 1) << name << "\n" << kernel;
  const Verdict verdict = judged(asked, kernel);
  EXPECT_TRUE(verdict.correct) << name << "\n" << verdict.feedback << kernel;
}

TEST(AttentionsSlow, AreRightInTheEmulator) {
  Judged judged;
  const std::vector<Spelling> all = spellings();
  for (std::size_t i = 0; i < all.size(); i += thorough_tests() ? 1 : 3) {
    Asked asked = all[i].asked;
    expect_right(judged, all[i].name, asked);
    if (i % 2 == 1 && !thorough_tests()) continue;
    asked.dtype = "float32";
    expect_right(judged, all[i].name + std::string(" in float32"), asked);
  }
}

TEST(AttentionsSlow, AreRightInAllShapes) {
  Judged judged;
  const std::vector<Spelling> all = shapes();
  for (std::size_t i = 0; i < all.size(); i += thorough_tests() ? 1 : 2)
    expect_right(judged, all[i].name, all[i].asked);
}

TEST(AttentionsSlow, AreRightInALayer) {
  Judged judged;
  expect_right(judged, "layer", layer());
  Asked single = layer();
  single.dtype = "float32";
  expect_right(judged, "layer in float32", single);
  // Of rotary embeddings.
  Asked rotary = attention({"e = q.shape[-1] // 2", "q2 = torch.cat([-q[..., e:], q[..., :e]], -1)",
                            "k2 = torch.cat([-k[..., e:], k[..., :e]], -1)"},
                           "F.scaled_dot_product_attention(q * c + q2 * s, k * c + k2 * s, v, is_causal=True)");
  rotary.inputs.push_back("c: [t, d]");
  rotary.inputs.push_back("s: [t, d]");
  rotary.small = "{b: 2, h: 2, t: 67, d: 40}, {b: 1, h: 3, t: 96, d: 64}";
  expect_right(judged, "rotary", rotary);
}

}  // namespace
}  // namespace kw::program
