

def _no_backward(context, *gradients):
    raise NotImplementedError(f"{NAME} has no backward kernel: use it under torch.no_grad() or on tensors without gradients")


_operator.register_autograd(_no_backward)
