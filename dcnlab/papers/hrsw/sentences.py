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
    _of("More clusters mean longer paths", "section IV-A", "hrsw-fig3/grows-*"),
    _of("Paths grow ever more slowly with the number of clusters", "section IV-A", "hrsw-fig3/slows-*"),
    _of(
        "The average path falls with the logarithm of the table", "section V; conclusion", "hrsw-fig3/logarithm"
    ),
    _of(
        "The tables of Dragonfly and TZ-Random grow quickly with the size",
        "section IV-B",
        "hrsw-fig5/trend-*-entries",
    ),
    _of("The 3-D torus's paths grow more than HR-SW's", "section IV-B", "hrsw-fig5/trend-*-mean"),
    _of("A switch has (c - 1) + (k - 1) + m entries", "Eq. 1", "hrsw-statements/eq1-*"),
    _of(
        "A switch has an entry per own host, per switch of its cluster and per other cluster",
        "Fig. 2(b)",
        "hrsw-statements/fig2-*",
    ),
    _of("A k-ary n-cube takes k n / 4 hops on average", "section I", "hrsw-statements/cube-mean-*"),
    _of("A k-ary n-cube has diameter k n / 2", "section I", "hrsw-statements/cube-diameter-*"),
    _of("The 3-D torus has the smallest tables", "section IV-B", "hrsw-fig5/words-*-entries"),
    _of(
        "Dragonfly has the shortest paths in most sizes",
        "section IV-B",
        "hrsw-fig[45]/words-*-Shortest-Dragonfly-*",
    ),
    _of(
        "Random networks have shorter paths than tori and star graphs of their degree",
        "section I",
        "hrsw-background/random-*",
    ),
    _of(
        "De Bruijn, star and Kautz graphs have shorter average paths than k-ary n-cubes",
        "section I",
        "hrsw-background/unique-*",
    ),
    _of(
        "Minimal routing needs as many entries as there are nodes",
        "Abstract; section II-B",
        "hrsw-background/minimal-*",
    ),
    _of("Up*/down* routing requires N x C entries", "section I", "hrsw-background/updown-*"),
    _of("Thorup and Zwick's paths have a stretch of at most 3", "section II-C", "hrsw-background/stretch-*"),
    _of("Thorup and Zwick's tables have O~(n^(1/2)) entries", "section II-C", "hrsw-background/tz-growth"),
    _of("HR-SW's tables are of equal size, TZ's are not", "section IV-B", "hrsw-background/equal-*"),
    _of(
        "An address has as many bits as a conventional one",
        "section III-C, Fig. 2(a)",
        "hrsw-background/address-*",
    ),
    _of("With one cluster HR-SW is shortest-path routing", "section IV-A", "hrsw-background/one-cluster"),
    _of("Random links reduce the diameter significantly", "section III-A", "hrsw-background/reduced-*"),
    _of(
        "The small world performs well with exponents of 1.5 to 2.5",
        "section III-A, footnote 2",
        "hrsw-background/exponent-*",
    ),
    _of(
        "The table shrinks ever more slowly with the number of clusters",
        "section IV-A",
        "hrsw-background/table-falls-*",
    ),
)
