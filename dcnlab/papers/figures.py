"""Figures of claims: published and measured values over the parameter that varies, or as named rows.

The statements of claims say what varies: those that differ in one number, such as ``k = 4`` or
``2048 servers``, are a curve over it.  Others that have a quantity in common are rows of one figure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dcnlab.evaluator.reporting.compared import Compared, Curves, Dots
from dcnlab.papers.claim import Row

#: Fewer values are no curve, and more curves no figure; a figure has at most so many named rows.
_FEWEST, _MOST_CURVES, _MOST_ROWS = 3, 6, 24
#: Curves whose largest values differ by more than this factor do not share a figure.
_APART = 100
#: Nor do those whose quantities have less than this share of the text in common.
_COMMON = 0.42
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?=$|[,;)]| [a-z(])"
#: Where a statement names a parameter: ``k = 4``, ``cr:d=2``, ``2048 servers``, ``star:5``.
_EQUATION = re.compile(rf"\b([A-Za-z]\w*)( ?= ?){_NUMBER}")
_UNITS = "(servers|switches|clusters|nodes|replicas)"
_COUNT = re.compile(rf"\b(\d{{1,3}}(?:,\d{{3}})+|\d+)( ){_UNITS}\b")
_SPEC = re.compile(r"\b([a-z]+)(:)(\d+)(?=:)")
_ASIDE = re.compile(r" \(at (?:least|most) [\d.,]+\)")
#: A claim such as ``star:5: D = floor(3 (s - 1)/2)``.
_FORMULA = re.compile(r"\w+:[\w,=.]+: ([A-Za-z]\w*) (?:<?=|above|below) ")
#: A quantity whose rows are less than this part of those that are left has no figure of its own.
_SMALL = 6
#: The share of the names that have a phrase by which their values are called.
_MOSTLY = 0.7
_EDGES = " ,:;-"
#: Words that say nothing at the end of what several sources have in common.
_DANGLING = re.compile(
    r"(?:[\s,;:]*\b(?:section|row|set|table|eq|eqs|fig|figure|column|proof|the|of|in|is|on|and)\b\.?)+$", re.I
)


@dataclass(frozen=True)
class _Slot:
    """The value of a parameter in a statement: the parameter, its place, and how the value is written there."""

    parameter: str
    start: int
    end: int
    text: str
    value: float


@dataclass(frozen=True)
class _Point:
    """A row, its place on the axis, and its other parameters in words."""

    row: Row
    at: float
    curve: str


@dataclass(frozen=True)
class _Family:
    """Rows whose statements differ in nothing but parameters: those in ``quantity`` stand apart."""

    quantity: str
    parameter: str
    points: tuple[_Point, ...]

    @property
    def curves(self) -> dict[str, list[_Point]]:
        """The points by the values of the other parameters."""
        by_curve: dict[str, list[_Point]] = defaultdict(list)
        for point in self.points:
            by_curve[point.curve].append(point)
        return by_curve

    @property
    def top(self) -> float:
        """The largest absolute value."""
        return max(abs(point.row.claim.printed or 0) for point in self.points)


def figures(rows: Iterable[Row]) -> list[Curves | Dots]:
    """The figures of the rows that have a published and a measured value."""
    shown = [row for row in rows if row.claim.printed is not None and row.measured is not None]
    families, rest = _families(shown)
    return [*map(_figure, _together(families)), *_dots(rest)]


def compared(row: Row, name: str, at: float = float("nan")) -> Compared:
    """A row as a pair of values in a figure."""
    claim, measured = row.claim, row.measured
    if claim.printed is None or measured is None:
        raise ValueError(f"{claim.id} has no two values to compare")
    others = tuple(one.measured for one in row.readings[1:])
    return Compared(
        name,
        claim.printed,
        measured,
        at,
        claim.upper,
        claim.relation,
        others,
        row.seen,
        row.verdict,
        claim.tolerance,
    )


def _slots(text: str) -> list[_Slot]:
    """Every parameter that a statement names, in the order of their places."""
    slots = []
    for pattern, word, number, label in (
        (_EQUATION, 1, 3, "{}"), (_COUNT, 3, 1, "{}"), (_SPEC, 1, 3, "parameter of {}"),
    ):  # fmt: skip
        for one in pattern.finditer(text):
            value = float(one[number].replace(",", ""))
            slots.append(_Slot(label.format(one[word]), one.start(), one.end(), one[0], value))
    return sorted(slots, key=lambda slot: slot.start)


def _families(rows: Sequence[Row]) -> tuple[list[_Family], list[Row]]:
    """The families that have a curve, and the rows that belong to none."""
    alike: dict[tuple[str, tuple[str, ...]], list[tuple[Row, list[_Slot]]]] = defaultdict(list)
    for row in rows:
        text = _named(row)
        slots = _slots(text)
        alike[_blanked(text, slots), tuple(slot.parameter for slot in slots)].append((row, slots))
    families, rest = [], []
    for (text, parameters), members in alike.items():
        family = _family(text, parameters, members)
        if family is None:
            rest += [row for row, _ in members]
        else:
            families.append(family)
    return families, rest


def _blanked(text: str, slots: Sequence[_Slot]) -> str:
    """The text without its parameters."""
    for slot in reversed(slots):
        text = f"{text[: slot.start]}\0{text[slot.end :]}"
    return text


def _family(text: str, parameters: Sequence[str], members: Sequence[tuple[Row, list[_Slot]]]) -> _Family | None:
    """The rows as curves over the parameter with the most values; None if no curve has enough points."""
    counts = [len({slots[number].value for _, slots in members}) for number in range(len(parameters))]
    if not counts or max(counts) < _FEWEST:
        return None
    axis = counts.index(max(counts))
    fixed = [number for number, count in enumerate(counts) if count == 1]
    points = []
    for row, slots in members:
        others = [slots[n].text for n in range(len(parameters)) if n != axis and n not in fixed]
        points.append(_Point(row, slots[axis].value, ", ".join(others)))
    first = members[0][1]
    for number in range(len(parameters)):
        text = text.replace("\0", first[number].text if number in fixed else "", 1)
    family = _Family(_tidy(text), parameters[axis], tuple(points))
    longest = max(map(len, family.curves.values()))
    return family if longest >= _FEWEST and len(family.curves) <= _MOST_CURVES else None


def _together(families: Sequence[_Family]) -> Iterator[list[_Family]]:
    """Families over one parameter that differ in one place share a figure."""
    left = list(families)
    while left:
        group = [left.pop(0)]
        for other in list(left):
            count = sum(len(one.curves) for one in (*group, other))
            if count <= _MOST_CURVES and _related([*group, other]):
                group.append(other)
                left.remove(other)
        yield group


def _related(families: Sequence[_Family]) -> bool:
    """Whether the quantities have one parameter, like values, and much of their text in common."""
    if len({one.parameter for one in families}) > 1 or len({_is_share(one.quantity) for one in families}) > 1:
        return False
    tops = [one.top for one in families]
    before, after = _common([one.quantity for one in families])
    alike = len(before + after) > _COMMON * max(len(one.quantity) for one in families)
    return alike and max(tops) <= _APART * min(tops)


def _is_share(quantity: str) -> bool:
    return "%" in quantity or "per cent" in quantity


def _figure(families: Sequence[_Family]) -> Curves:
    texts = [family.quantity for family in families]
    before, after = _common(texts) if len(texts) > 1 else (texts[0], "")
    curves = []
    for family, text in zip(families, texts, strict=True):
        own = text[len(before) : len(text) - len(after)].strip(_EDGES)
        for name, points in family.curves.items():
            label = ", ".join(filter(None, (own, name)))
            curves.append((label, tuple(compared(one.row, one.row.claim.statement, one.at) for one in points)))
    quantity = _tidy(_closed(before, after)) if len(texts) > 1 else before
    source = _source(one.row for family in families for one in family.points)
    return Curves(source, families[0].parameter, quantity, tuple(curves))


def _dots(rows: Sequence[Row]) -> Iterator[Dots]:
    """Rows with a common quantity; those that are alone together at the end."""
    left, alone = list(rows), []
    for quantity, group in _formulas(left).items():
        yield from _pages(group, [_named(row) for row in group], quantity)
        left = [row for row in left if row not in group]
    while left:
        before, after, group = _largest(left)
        if len(group) < max(2, len(left) // _SMALL):
            alone = left
            break
        names = [_named(row) for row in group]
        names = [name[len(before) : len(name) - len(after)].strip(_EDGES) or name for name in names]
        yield from _pages(group, names, _tidy(_closed(before, after)))
        left = [row for row in left if row not in group]
    names = [_named(row) for row in alone]
    yield from _pages(alone, names, _phrase(names))


def _named(row: Row) -> str:
    """The claim as a row is called."""
    return _ASIDE.sub("", row.claim.statement)


def _formulas(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows that say ``SUBJECT: QUANTITY = FORMULA``, by their quantity."""
    by_quantity: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if one := _FORMULA.match(row.claim.statement):
            by_quantity[one[1]].append(row)
    return {quantity: group for quantity, group in by_quantity.items() if len(group) >= _FEWEST}


def _phrase(names: Sequence[str]) -> str:
    """The longest run of words, at least two, that most names have."""
    if not names:
        return ""
    first = names[0].split()
    runs = [" ".join(first[at:end]) for at in range(len(first)) for end in range(at + 2, len(first) + 1)]
    shared = [run for run in runs if sum(f" {run} " in f" {name} " for name in names) >= _MOSTLY * len(names)]
    return max(shared, key=len, default="value").strip(_EDGES)


def _largest(rows: Sequence[Row]) -> tuple[str, str, list[Row]]:
    """The rows that share a beginning and an end: as many rows as possible, with as many common words."""
    texts = [_named(row) for row in rows]
    best: tuple[float, str, str, list[Row]] = (0, "", "", [])
    for before, after in {_common([texts[0], text]) for text in texts[1:]}:
        kept = len(re.findall("[A-Za-z]{3,}", before + after))
        group = [
            row
            for row, text in zip(rows, texts, strict=True)
            if text.startswith(before) and text.endswith(after) and len(text) > len(before) + len(after)
        ]
        score = (len(group) - 1) * min(kept, 6) ** 1.5
        if score > best[0]:
            best = (score, before, after, group)
    return best[1:] if best[0] else ("", "", [rows[0]])


def _pages(rows: Sequence[Row], names: Sequence[str], quantity: str) -> Iterator[Dots]:
    """Figures of about equally many rows; one value alone is no figure."""
    if len(rows) < 2:
        return
    count = -(-len(rows) // _MOST_ROWS)
    for page in range(count):
        part = slice(page * len(rows) // count, (page + 1) * len(rows) // count)
        values = tuple(compared(row, name) for row, name in zip(rows[part], names[part], strict=True))
        yield Dots(_source(rows[part]), quantity, values)


def _common(texts: Sequence[str]) -> tuple[str, str]:
    """What all texts begin and end with, in whole words."""
    before = _prefix(texts)
    while before and any(_splits(text, len(before)) for text in texts):
        before = before[:-1]
    tails = [text[len(before) :][::-1] for text in texts]
    after = _prefix(tails)[::-1]
    while after and any(_splits(text, len(text) - len(after)) for text in texts):
        after = after[1:]
    return before, after


def _prefix(texts: Sequence[str]) -> str:
    """The letters with which all texts begin."""
    least, most = min(texts), max(texts)
    same = (at for at, (one, other) in enumerate(zip(least, most, strict=False)) if one != other)
    return least[: next(same, min(len(least), len(most)))]


def _splits(text: str, at: int) -> bool:
    """Whether the place is inside a word, a spec, a formula, a pair, or between a number and its unit."""
    if not 0 < at < len(text):
        return False
    left, right = text[:at], text[at:]
    if re.search(r"[-+*/=(]\s*$|\([^)]*$", left) or re.match(r"\s*[-+*/=]\s", right):
        return True
    if re.search(r"\d\s*$", left) and re.match(rf"\s*{_UNITS}\b", right):
        return True
    return not (left[-1].isspace() or right[0].isspace() or re.match(r"[,;:](\s|$)", right))


def _closed(before: str, after: str) -> str:
    """What texts have in common, with a sign where they differ."""
    if not before.strip(_EDGES):
        return after if after.lstrip()[:1] in (",", ";", ":") else f"\u2026 {after.lstrip()}"
    return f"{before.rstrip(_EDGES)} \u2026{after if after[:1] in ',;:' else f' {after}'}"


def _tidy(text: str) -> str:
    """A text from which a part was taken: without what is left of the punctuation."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?:\s*[,;:])+(?=\s*[,;:)]|\s*$)", "", text)
    return re.sub(r"\s+([,;:])", r"\1", text).strip(_EDGES)


def _source(rows: Iterable[Row]) -> str:
    """The places in the paper: all where they are few, or what they have in common."""
    clauses = list(
        dict.fromkeys(re.split("[;:\"]|(?<=,) '", row.claim.source)[0].strip(_EDGES) for row in rows)
    )
    if len(clauses) <= 2:
        return "; ".join(clauses)
    common = _prefix(clauses)
    while common and any(_splits(clause, len(common)) for clause in clauses):
        common = common[:-1]
    common = _DANGLING.sub("", common.strip(_EDGES)).strip(_EDGES)
    return common or "; ".join([*dict.fromkeys(clause.split(",")[0] for clause in clauses)][:4])
