"""What the paper on Borel Cayley graphs says, and the rows that are evidence for it."""

from dcnlab.papers.claim import Sentence

_of = Sentence.of

SENTENCES = (
    _of(
        "CR routing takes shorter paths the farther it looks ahead",
        'section 4.7, "its performance improves with the look ahead distance d"',
        "borel-table?/*-improves-?",
    ),
    _of(
        "Two-Phase routing takes at most 2 D hops",
        'section 4.7, "maximum path lengths are bounded by 2D"',
        "borel-table?/*-bound",
    ),
    _of("Figure 3 shows the averages of Tables 3 and 4", "Figure 3; section 4.7", "borel-fig3/*"),
    _of("The phases have diameters D1 <= D and D2 <= D", "sections 4.4 and 4.5", "borel-phases/*"),
)
