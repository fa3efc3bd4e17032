"""Numbers with a noun, as in ``1 link`` and ``2 switches``."""

from __future__ import annotations


def counted(number: int, noun: str, form: str = "") -> str:
    """The number, written in a ``form`` such as ``,``, and the noun in the singular or the plural."""
    plural = noun if number == 1 else noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:{form}} {plural}"
