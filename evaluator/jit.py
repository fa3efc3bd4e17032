"""The decorators of :mod:`addressing.jit`, where the evaluator's kernels find them."""

from addressing.jit import compiled, inlined, threaded

__all__ = ["compiled", "inlined", "threaded"]
