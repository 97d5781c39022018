"""How operators of ATen are written in a reference: as people write PyTorch."""

from __future__ import annotations

infix = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "remainder": "%", "floor_divide": "//",
    "gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!=",
    "bitwise_and": "&", "bitwise_or": "|", "__and__": "&", "__or__": "|", "matmul": "@", "mm": "@", "bmm": "@",
}

# torch.nn.functional has these with ATen's order of arguments.
functional = frozenset(
    """linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d layer_norm group_norm rms_norm gelu silu mish
    softplus elu selu celu hardtanh hardsigmoid hardswish leaky_relu relu6 glu max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d
    avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
    scaled_dot_product_attention pad pixel_shuffle pixel_unshuffle hardshrink softshrink prelu threshold one_hot
    cosine_similarity pairwise_distance""".split())

# Written as methods, which is what people do with shapes.
methods = frozenset(
    """view reshape permute transpose expand contiguous unsqueeze squeeze flatten unflatten repeat size sum mean amax amin clone detach t
    masked_fill type_as expand_as view_as select_scatter index_select gather cumsum cumprod unbind chunk split_with_sizes split
    narrow fill_ zero_ copy_ movedim swapaxes""".split())

variadic = frozenset({"view", "reshape", "permute", "expand", "repeat"})

# They only pass their input on, as far as values are concerned.
identities = frozenset({"alias", "lift_fresh_copy", "lift_fresh", "detach_", "detach", "clone", "contiguous", "resolve_conj",
                        "resolve_neg"})

# Dropout: its inference form is its input.
dropouts = frozenset({"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "dropout_", "feature_dropout_",
                      "alpha_dropout_"})

# Arguments that draw random numbers, by operator, and the value that does not.
random_arguments = {
    "scaled_dot_product_attention": {"dropout_p": 0.0},
    "lstm": {"dropout": 0.0}, "gru": {"dropout": 0.0}, "rnn_tanh": {"dropout": 0.0}, "rnn_relu": {"dropout": 0.0},
    "rrelu": {"training": False},
}

# New tensors: they get type and device of an input, so that the truth can be computed in float64 and on a GPU.
factories = frozenset({"zeros", "ones", "full", "empty", "arange", "linspace", "eye", "tril_indices", "triu_indices", "scalar_tensor",
                       "new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like", "range",
                       "hann_window", "hamming_window"})

# Names that a value in the text cannot have: Python's, TorchScript's and the launcher's.
reserved_names = frozenset(
    """and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal
    not or pass raise return try while with yield None True False torch F math reference int float bool str list len range max min abs
    sum print alignas alignof asm auto case catch char const constexpr decltype default delete do double enum explicit extern friend
    goto inline long mutable namespace new noexcept nullptr operator private protected public register short signed sizeof static
    struct switch template this throw true false typedef typename union unsigned using virtual void volatile xor stream launch
    threadIdx blockIdx blockDim gridDim warpSize""".split())
