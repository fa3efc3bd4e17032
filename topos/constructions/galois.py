"""Finite fields of small prime-power order as tables, for MMS graphs (Slim Fly)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]


def is_prime(n: int) -> bool:
    """True for primes (trial division: n is small)."""
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def prime_power(n: int) -> tuple[int, int] | None:
    """(p, e) with n = p^e, p prime; None for other numbers."""
    for p in range(2, n + 1):
        if n % p == 0:
            e = round(math.log(n, p))
            return (p, e) if p**e == n else None
    return None


@dataclass(frozen=True, eq=False)
class Field:
    """GF(q): elements 0 .. q-1 (base-p digits are polynomial coefficients); tables ``add`` and
    ``multiply``; ``powers[i]`` is the i-th power of a primitive element."""

    order: int
    add: Table
    multiply: Table
    powers: Table


def field(q: int) -> Field:
    """GF(q) for a prime power q; ValueError otherwise."""
    power = prime_power(q)
    if power is None:
        raise ValueError(f"{q} is not a prime power")
    p, e = power
    digits = np.arange(q)[:, None] // p ** np.arange(e) % p
    add = (digits[:, None, :] + digits[None, :, :]) % p @ p ** np.arange(e)
    powers = np.array(_primitive_powers(p, e))
    log = np.zeros(q, dtype=np.int64)
    log[powers] = np.arange(q - 1)
    multiply = powers[(log[:, None] + log[None, :]) % (q - 1)]
    multiply[0, :] = multiply[:, 0] = 0
    return Field(q, add, multiply, powers)


def _primitive_powers(p: int, e: int) -> list[int]:
    """1, g, g^2, ... for the first primitive element g.

    For e > 1, g is x modulo a monic polynomial of degree e over GF(p), tried in order until
    the powers of x run through all non-zero elements (then the polynomial is primitive).
    """
    if e == 1:
        orbits = ([pow(g, i, p) for i in range(p - 1)] for g in range(1, p))
    else:
        orbits = (_orbit_of_x(p, e, low) for low in itertools.product(range(p), repeat=e))
    return next(orbit for orbit in orbits if len(set(orbit)) == p**e - 1 and 0 not in orbit)


def _orbit_of_x(p: int, e: int, low: tuple[int, ...]) -> list[int]:
    """The first p^e - 1 powers of x modulo x^e - low(x)."""
    element, orbit = [1] + [0] * (e - 1), []
    for _ in range(p**e - 1):
        orbit.append(sum(digit * p**i for i, digit in enumerate(element)))
        top = element[-1]
        element = [(shifted + top * c) % p for shifted, c in zip([0, *element[:-1]], low, strict=True)]
    return orbit
