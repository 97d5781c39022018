#include "kernel/reference/torch/operators.h"

#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace kw {
namespace {

// Of namespace aten, by subject. A name that ends in an underscore is the same operation in place. Left out on purpose:
// from_file, save, set_, set_data, resize_ and relatives (memory by hand), everything quantised or sparse, random
// numbers, warn, manual_seed, record_stream, pin_memory, and whatever is not for users (names with an underscore in
// front).
constexpr std::string_view allowed_aten = R"(
# arithmetic and comparisons of numbers and elements
abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr allclose angle arccos arccosh arcsin arcsinh
arctan arctan2 arctanh asin asinh atan atan2 atanh baddbmm bilinear bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor bmm ceil celu chain_matmul clamp clamp_max clamp_min clip complex conj
conj_physical copysign cos cosh cross deg2rad degrees det digamma dist div divide divmod dot einsum elu eq equal erf
erfc erfinv exp exp2 expm1 fabs factorial fix float_power floor floor_divide floordiv fmax fmin fmod frac frexp gamma
gcd ge gelu ger glu greater greater_equal gt hardshrink hardsigmoid hardswish hardtanh heaviside hypot i0 igamma
igammac imag inner isclose isfinite isinf isnan isneginf isposinf isreal kron lcm ldexp le leaky_relu lerp less
less_equal lgamma linear log log10 log1p log2 log_sigmoid log_sigmoid_forward logaddexp logaddexp2 logical_and
logical_not logical_or logical_xor logit lt mathremainder matmul max maximum min minimum mish mm modf mul multiply mv
mvlgamma nan_to_num ne neg negative nextafter not_equal outer polar polygamma positive pow prelu rad2deg radians real
reciprocal relu relu6 remainder round rrelu rsqrt rsub selu sgn sigmoid sign signbit silu sin sinc sinh softplus
softshrink sqrt square sub subtract tan tanh tensordot threshold true_divide trunc vdot xlogy
# reductions, scans, sorting
all amax amin aminmax any argmax argmin argsort bincount bucketize cdist corrcoef cosine_similarity count_nonzero cov
cummax cummin cumprod cumsum cumulative_trapezoid diff frobenius_norm gradient histc histogram isin kthvalue
logcumsumexp logsumexp mean median mode msort nanmean nanmedian nanquantile nansum norm norm_except_dim nuclear_norm
pairwise_distance pdist prod quantile renorm searchsorted segment_reduce sort std std_mean sum sum_to_size topk trace
trapezoid trapz unique_consecutive unique_dim unique_dim_consecutive var var_mean
# layers and losses
__interpolate __upsample __upsample_bilinear __upsample_nearest adaptive_avg_pool1d adaptive_avg_pool2d
adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d affine_grid_generator avg_pool1d
avg_pool2d avg_pool3d batch_norm binary_cross_entropy binary_cross_entropy_with_logits channel_shuffle col2im
constant_pad_nd conv1d conv2d conv3d conv_depthwise3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
convolution cosine_embedding_loss cross_entropy_loss ctc_loss embedding embedding_bag fractional_max_pool2d
fractional_max_pool3d grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru gru_cell hinge_embedding_loss
huber_loss im2col instance_norm kl_div l1_loss layer_norm log_softmax lstm lstm_cell margin_ranking_loss max_pool1d
max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool2d
max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward native_batch_norm
native_channel_shuffle native_group_norm native_layer_norm nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward
nll_loss_nd one_hot pad pixel_shuffle pixel_unshuffle poisson_nll_loss reflection_pad1d reflection_pad2d
reflection_pad3d replication_pad1d replication_pad2d replication_pad3d rms_norm rnn_relu rnn_relu_cell rnn_tanh
rnn_tanh_cell scaled_dot_product_attention slow_conv3d slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d
slow_conv_transpose3d smooth_l1_loss soft_margin_loss softmax thnn_conv2d triplet_margin_loss upsample_bicubic2d
upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
# shapes, views and copies
adjoint alias as_strided as_strided_scatter as_tensor atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors
broadcast_to cartesian_prod cat chunk clone column_stack combinations concat concatenate contiguous copy cpu cuda
detach diag diag_embed diagflat diagonal diagonal_scatter dsplit dstack expand expand_as flatten flip fliplr flipud
hsplit hstack lift lift_fresh matrix_H meshgrid mH moveaxis movedim mT narrow numpy_T pad_sequence permute ravel
repeat repeat_interleave reshape reshape_as resolve_conj resolve_neg roll rot90 row_stack select select_scatter slice
slice_scatter split split_with_sizes squeeze stack swapaxes swapdims t tensor_split tile to transpose tril
tril_indices triu triu_indices type_as unbind unflatten unfold unsafe_chunk unsafe_split unsafe_split_with_sizes
unsqueeze vander view view_as view_as_complex view_as_real vsplit vstack
# places
argwhere fill fill_diagonal_ gather index index_add index_copy index_fill index_put index_reduce index_select
masked_fill masked_scatter masked_select nonzero nonzero_numpy nonzero_static put scatter scatter_add scatter_reduce
take take_along_dim where
# new tensors
arange bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye full full_like hamming_window
hann_window kaiser_window linspace logspace new_empty new_empty_strided new_full new_ones new_zeros ones ones_like
range scalar_tensor tensor zero zeros zeros_like
# what a tensor is
can_cast dense_dim device dim element_size get_device is_complex is_conj is_contiguous is_floating_point
is_grad_enabled is_inference is_neg is_nonzero is_same_size is_scripting is_signed item numel promote_types
requires_grad_ result_type size storage_offset stride
# spectra
fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn
fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq
fft_rfftn istft stft
# linear algebra
cholesky cholesky_inverse cholesky_solve geqrf inverse linalg_cholesky linalg_cholesky_ex linalg_cond linalg_cross
linalg_det linalg_diagonal linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv
linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor
linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_exp linalg_matrix_norm linalg_matrix_power
linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv linalg_qr linalg_slogdet linalg_solve linalg_solve_ex
linalg_solve_triangular linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot
linalg_vector_norm logdet lu_solve lu_unpack matrix_exp matrix_power orgqr ormqr pinverse qr slogdet svd
triangular_solve
# special functions
special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_digamma
special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1
special_gammainc special_gammaincc special_gammaln special_hermite_polynomial_h special_hermite_polynomial_he
special_i0 special_i0e special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p
special_log1p special_log_ndtr special_log_softmax special_logit special_logsumexp special_modified_bessel_i0
special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_multigammaln special_ndtr
special_ndtri special_polygamma special_psi special_round special_scaled_modified_bessel_k0
special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_sinc special_softmax
special_spherical_bessel_j0 special_xlog1py special_xlogy special_zeta
# the language: numbers, lists, texts of messages
__and__ __contains__ __derive_index __getitem__ __iand__ __ilshift__ __ior__ __irshift__ __is__ __isnot__ __ixor__
__lshift__ __not__ __or__ __range_length __round_to_zero_floordiv __rshift__ __xor__ _set_item _shape_as_tensor
_size_if_not_equal _unwrap_optional append bin Bool chr clear Complex ComplexImplicit count Delete dict endswith
extend find Float FloatImplicit format get hex index insert Int IntImplicit items join keys len list lower oct ord
percentFormat pop remove replace reverse ScalarImplicit setdefault Size sorted startswith str strip update upper
values
)";

// Of namespace prim: control flow, values and calls of the text's own functions.
constexpr std::string_view allowed_prim = R"(
abs CallFunction Constant ConstantChunk data device DictConstruct dtype If index is_cpu is_cuda is_nested is_quantized is_sparse isinstance
itemsize layout ListConstruct ListUnpack Load Loop max min nbytes NumToTensor Param RaiseException rangelist Return Store StringIndex tolist
TupleConstruct TupleIndex TupleSlice TupleUnpack unchecked_cast unchecked_unwrap_optional Uninitialized VarConcat VarStack
)";

std::set<std::string, std::less<>> words(std::string_view text) {
  std::set<std::string, std::less<>> found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# ", 0) == 0) continue;
    std::istringstream parts(line);
    for (std::string word; parts >> word;) found.insert(word);
  }
  return found;
}

bool is_allowed(c10::Symbol kind) {
  static const auto aten = words(allowed_aten), prim = words(allowed_prim);
  const std::string_view name = kind.toUnqualString();
  if (kind.is_prim()) return prim.contains(name);
  if (!kind.is_aten()) return false;
  if (aten.contains(name)) return true;
  return name.ends_with('_') && aten.contains(name.substr(0, name.size() - 1));
}

std::string reason_against(c10::Symbol kind) {
  static const auto random = words(
      "rand rand_like randint randint_like randn randn_like randperm random bernoulli normal uniform exponential "
      "geometric "
      "cauchy log_normal multinomial poisson binomial dropout alpha_dropout feature_dropout native_dropout");
  std::string_view name = kind.toUnqualString();
  if (name.ends_with('_')) name.remove_suffix(1);
  if (random.contains(name)) return "draws random numbers, so that no answer is right";
  if (kind == c10::prim::Print) return "prints";
  return "is not among the operators of a reference";
}

Result<void> check_block(const torch::jit::Block& block) {
  for (const torch::jit::Node* node : block.nodes()) {
    if (!is_allowed(node->kind())) {
      const auto place = node->sourceRange().file_line_col();
      return Error{std::string("it uses ") + node->kind().toQualString() +
                       (place ? " in line " + std::to_string(std::get<1>(*place)) : "") + ", which " +
                       reason_against(node->kind()),
                   "",
                   {}};
    }
    for (const torch::jit::Block* inner : node->blocks()) KW_TRY_VOID(check_block(*inner));
  }
  return {};
}

}  // namespace

Result<void> check_operators(const torch::jit::CompilationUnit& unit) {
  for (torch::jit::Function* function : unit.get_functions())
    KW_TRY_VOID(check_block(*torch::jit::toGraphFunction(*function).graph()->block()));
  return {};
}

}  // namespace kw
