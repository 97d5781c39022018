#pragma once
// The names that drawn tasks use, by role. What is asked in other names is renamed to these before an agent reads it
// (normal_form/), so a list must hold every name that training shows in that role and no other. Their order decides
// what is drawn.

#include <span>
#include <string_view>

namespace kw {

using RoleNames = std::span<const std::string_view>;

namespace names {

inline constexpr std::string_view scalar[] = {"alpha", "scale", "beta", "factor", "shift", "gamma", "c"};
inline constexpr std::string_view result_local[] = {"r", "t", "s", "h", "acc"};
inline constexpr std::string_view vector_length[] = {"n", "count", "size", "length", "total", "numel", "N"};
inline constexpr std::string_view plane_rows[] = {"rows", "m", "batch", "H"};
inline constexpr std::string_view plane_cols[] = {"cols", "n", "width", "dim", "W"};
inline constexpr std::string_view element_full[] = {"x", "a", "b", "input", "u", "v", "w", "other", "bias", "gate"};
inline constexpr std::string_view element_output[] = {"y", "out", "z", "result", "output"};
inline constexpr std::string_view broadcast_rows[] = {"rows", "m", "batch", "tokens", "R"};
inline constexpr std::string_view broadcast_cols[] = {"cols", "n", "dim", "features", "C"};
inline constexpr std::string_view image_batch[] = {"batch", "b", "images", "N"};
inline constexpr std::string_view image_channels[] = {"channels", "c", "maps", "C"};
inline constexpr std::string_view broadcast_last[] = {"length", "pixels", "spatial", "L"};
inline constexpr std::string_view broadcast_full[] = {"x", "input", "a", "data"};
inline constexpr std::string_view broadcast_second[] = {"residual", "other", "z", "skip"};
inline constexpr std::string_view broadcast_narrow[] = {"bias", "weight", "scale", "shift",
                                                        "gain", "offset", "mean",  "b"};
inline constexpr std::string_view output[] = {"y", "out", "result", "output"};
inline constexpr std::string_view transpose_batch[] = {"batch", "b", "heads"};
inline constexpr std::string_view transpose_rows[] = {"rows", "m", "height", "R"};
inline constexpr std::string_view transpose_cols[] = {"cols", "n", "width", "C"};
inline constexpr std::string_view transpose_full[] = {"x", "a", "input", "src_m"};
inline constexpr std::string_view transpose_second[] = {"other", "b_m", "z"};
inline constexpr std::string_view transpose_bias[] = {"bias", "shift_v", "w"};
inline constexpr std::string_view permute_0[] = {"batch", "a_dim", "d0"};
inline constexpr std::string_view permute_1[] = {"heads", "channels", "d1"};
inline constexpr std::string_view permute_2[] = {"seq", "height", "d2"};
inline constexpr std::string_view permute_3[] = {"dim", "width", "d3"};
inline constexpr std::string_view permute_full[] = {"x", "input", "t_in"};
inline constexpr std::string_view permute_second[] = {"other", "z", "residual"};
inline constexpr std::string_view table_rows[] = {"rows", "vocab", "entries", "bins"};
inline constexpr std::string_view table_cols[] = {"cols", "dim", "width"};
inline constexpr std::string_view picks[] = {"picks", "count", "tokens", "n"};
inline constexpr std::string_view table[] = {"table", "x", "weight", "base"};
inline constexpr std::string_view index[] = {"index", "ids", "idx_in", "tokens_in"};
inline constexpr std::string_view updates[] = {"src_rows", "updates", "values"};
inline constexpr std::string_view gather_full[] = {"position", "residual", "other"};
inline constexpr std::string_view gather_row[] = {"bias", "gain"};
inline constexpr std::string_view product_bias[] = {"bias", "b_vec", "shift"};
inline constexpr std::string_view product_residual[] = {"residual", "skip", "c_in"};
inline constexpr std::string_view matvec_rows[] = {"rows", "m", "outputs"};
inline constexpr std::string_view matvec_cols[] = {"cols", "k", "inputs"};
inline constexpr std::string_view matvec_matrix[] = {"a", "matrix", "weight", "w"};
inline constexpr std::string_view matvec_vector[] = {"x", "v", "vec_in"};
inline constexpr std::string_view matvec_bias[] = {"bias", "b", "shift"};
inline constexpr std::string_view matvec_output[] = {"y", "out", "result"};
inline constexpr std::string_view product_batch[] = {"batch", "b", "B"};
inline constexpr std::string_view heads[] = {"heads", "h", "nh"};
inline constexpr std::string_view queries[] = {"seq", "queries", "T"};
inline constexpr std::string_view product_m[] = {"m", "M", "rows"};
inline constexpr std::string_view head_dim[] = {"dim", "head_dim", "d"};
inline constexpr std::string_view keys[] = {"keys", "length", "S"};
inline constexpr std::string_view product_k[] = {"k", "K", "inner"};
inline constexpr std::string_view product_n[] = {"n", "N", "cols"};
inline constexpr std::string_view query[] = {"q", "query"};
inline constexpr std::string_view weights[] = {"p", "probs", "weights"};
inline constexpr std::string_view product_left[] = {"a", "x", "input", "A"};
inline constexpr std::string_view key[] = {"key", "k_in"};
inline constexpr std::string_view value[] = {"v", "value"};
inline constexpr std::string_view product_right[] = {"b_mat", "w", "weight", "B_mat"};
inline constexpr std::string_view product_output[] = {"y", "out", "c", "result"};
inline constexpr std::string_view scores_plane[] = {"mask", "bias", "alibi"};
inline constexpr std::string_view scores_local[] = {"r", "s", "t"};
inline constexpr std::string_view row_seq[] = {"seq", "tokens", "steps", "T"};
inline constexpr std::string_view row_dim[] = {"dim", "hidden", "features", "D"};
inline constexpr std::string_view row_rows[] = {"rows", "m", "batch", "tokens", "R"};
inline constexpr std::string_view row_cols[] = {"cols", "n", "dim", "width", "hidden", "C"};
inline constexpr std::string_view row_full[] = {"x", "input", "a", "data", "logits"};
inline constexpr std::string_view row_second[] = {"other", "b", "residual", "target", "z"};
inline constexpr std::string_view row_vector[] = {"w", "bias", "scale", "mask_weight"};
inline constexpr std::string_view middle_outer[] = {"batch", "b", "outer"};
inline constexpr std::string_view middle_reduced[] = {"seq", "steps", "length", "mid"};
inline constexpr std::string_view middle_inner[] = {"dim", "channels", "inner", "features"};
inline constexpr std::string_view total_length[] = {"n", "count", "size", "length", "total"};
inline constexpr std::string_view arg_full[] = {"x", "input", "scores", "logits"};
inline constexpr std::string_view arg_second[] = {"other", "b", "z"};
inline constexpr std::string_view reduction_output[] = {"y", "out", "result", "output", "z"};
inline constexpr std::string_view norm_weight[] = {"weight", "gain", "gamma_w"};
inline constexpr std::string_view norm_bias[] = {"bias", "beta_b", "shift_b"};
inline constexpr std::string_view norm_skip[] = {"skip", "res_in", "h_in"};
inline constexpr std::string_view input_local[] = {"t", "h", "v", "e"};
inline constexpr std::string_view height[] = {"height", "h", "H"};
inline constexpr std::string_view width[] = {"width", "w_in", "W"};
inline constexpr std::string_view signal_length[] = {"length", "steps", "samples", "L"};
inline constexpr std::string_view pool_full[] = {"x", "input", "signal", "data"};
inline constexpr std::string_view pool_second[] = {"other", "z", "gate"};
inline constexpr std::string_view pool_channel[] = {"bias", "scale_c", "shift_c"};
inline constexpr std::string_view in_channels[] = {"channels", "in_channels", "c_in", "cin"};
inline constexpr std::string_view conv_input[] = {"x", "input", "signal"};
inline constexpr std::string_view out_channels[] = {"out_channels", "c_out", "filters", "cout"};
inline constexpr std::string_view conv_weight[] = {"weight", "w", "kernel_w", "filter"};
inline constexpr std::string_view conv_bias[] = {"bias", "b_out", "shift"};
inline constexpr std::string_view conv_residual[] = {"residual", "skip"};

}  // namespace names
}  // namespace kw
