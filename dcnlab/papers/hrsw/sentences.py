"""What the HR-SW paper says, and the rows that are evidence for it."""

from dcnlab.papers.claim import Sentence

_of = Sentence.of

SENTENCES = (
    _of("No path is longer than (Delta + 1) delta", "Fact 1", "hrsw-fact1/fact-1-*"),
    _of(
        "HR-SW, TZ-Random and TZ-SW have shorter paths than the 3-D torus",
        "section IV-B",
        "hrsw-fig[45]/words-*-Shortest-3-D Torus-longest",
        "hrsw-fig[45]/words-*-Shortest-3-D Torus-mean",
    ),
    _of("The 3-D torus has the smallest tables", "section IV-B", "hrsw-fig5/words-*-entries"),
    _of(
        "Dragonfly has the shortest paths in most sizes",
        "section IV-B",
        "hrsw-fig[45]/words-*-Shortest-Dragonfly-*",
    ),
)
