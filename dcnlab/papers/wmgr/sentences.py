"""What the WMGR paper says, and the rows that are evidence for it."""

from dcnlab.papers.claim import Sentence

_of = Sentence.of

SENTENCES = (
    _of("On Cayley graphs at least 85 % of pairs have a stretch below 2", "section V-F, Fig. 8", "wmgr-fig8/*"),
    _of("On BCube 83 % of pairs have a stretch below 2", "section V-F, Fig. 9", "wmgr-fig9/*less than 2"),
    _of(
        "On BCube at most 0.6 % of pairs have a stretch above 5",
        "section V-F, Fig. 9",
        "wmgr-fig9/*higher than 5",
    ),
    _of("BRP is a shortest-path scheme", "section V-F", "wmgr-fig9/*BRP*"),
    _of(
        "DFR has 0.5 % of paths with a stretch above 5, as WMGR has", "section V-F, Fig. 10", "wmgr-fig10/*DFR*"
    ),
    _of(
        "At least 75 % of pairs have a stretch below 2 in all topologies",
        "section V-F",
        "wmgr-orders/*-75",
    ),
    _of(
        "99 % of pairs have a stretch below 1.75 on Jellyfish, Xpander and Slim fly",
        "section V-F, Fig. 11",
        "wmgr-fig11/*",
    ),
    _of("The stretch is at most D", "Theorem 9", "wmgr-theorems/*-bound"),
    _of("By its own Cayley graph the stretch is 1", "Theorem 10; section V-D", "wmgr-theorems/*-cayley"),
    _of(
        "Diff has < 10 % as many states as nodes on hypercube, bubble-sort and transposition graphs",
        "section V-D, Fig. 7",
        "wmgr-fig7/hypercube*-share",
        "wmgr-fig7/bubblesort*-share",
        "wmgr-fig7/transposition*-share",
    ),
    _of(
        "Diff has < 55 % as many states as nodes on star and butterfly graphs of 64 nodes or more",
        "section V-D, Fig. 7",
        "wmgr-fig7/star*-share",
        "wmgr-fig7/butterfly*-share",
    ),
    _of("Memory grows more slowly than n in all topologies", "Abstract; Table III", "wmgr-table3/*-sublinear"),
    _of(
        "The decision time grows more slowly than n in all topologies",
        "Abstract; Table IV",
        "wmgr-table4/*-sublinear",
    ),
    _of("A decision is faster with the underlying Cayley graph", "section V-E", "wmgr-table4/*-faster"),
    _of("Table I, BCube: n", "Table I, row BCube, column n", "wmgr-table1/bcube:*-n"),
    _of("Table I, BCube: D", "Table I, row BCube, column D", "wmgr-table1/bcube:*-D"),
    _of("Table I, BCube: Delta", "Table I, row BCube, column Delta", "wmgr-table1/bcube:*-Delta"),
    _of("Table I, DCell: n", "Table I, row DCell, column n", "wmgr-table1/dcell:*-n-*"),
    _of("Table I, DCell: D", "Table I, row DCell, column D", "wmgr-table1/dcell:*-D"),
    _of("Table I, DCell: Delta", "Table I, row DCell, column Delta", "wmgr-table1/dcell:*-Delta"),
    _of("Table I, Fat-tree: n", "Table I, row Fat-tree, column n", "wmgr-table1/fattree:*-n"),
    _of("Table I, Fat-tree: D", "Table I, row Fat-tree, column D", "wmgr-table1/fattree:*-D"),
    _of("Table I, Fat-tree: Delta", "Table I, row Fat-tree, column Delta", "wmgr-table1/fattree:*-Delta"),
    _of("Table I, Jellyfish: n", "Table I, row Jellyfish, column n", "wmgr-table1/jellyfish:*-n"),
    _of("Table I, Jellyfish: D", "Table I, row Jellyfish, column D", "wmgr-table1/jellyfish:*-D"),
    _of("Table I, Jellyfish: Delta", "Table I, row Jellyfish, column Delta", "wmgr-table1/jellyfish:*-Delta"),
    _of("Table I, Xpander: n", "Table I, row Xpander, column n", "wmgr-table1/xpander:*-n"),
    _of("Table I, Xpander: Delta", "Table I, row Xpander, column Delta", "wmgr-table1/xpander:*-Delta"),
    _of("Table I, Slim fly: n", "Table I, row Slim fly, column n", "wmgr-table1/slimfly:*-n"),
    _of("Table I, Slim fly: D", "Table I, row Slim fly, column D", "wmgr-table1/slimfly:*-D"),
    _of("Table I, Hypercube: n", "Table I, row Hypercube, column n", "wmgr-table1/hypercube:*-n"),
    _of("Table I, Hypercube: D", "Table I, row Hypercube, column D", "wmgr-table1/hypercube:*-D"),
    _of("Table I, Hypercube: Delta", "Table I, row Hypercube, column Delta", "wmgr-table1/hypercube:*-Delta"),
    _of("Table I, Bubble-sort: n", "Table I, row Bubble-sort, column n", "wmgr-table1/bubblesort:*-n"),
    _of("Table I, Bubble-sort: D", "Table I, row Bubble-sort, column D", "wmgr-table1/bubblesort:*-D"),
    _of(
        "Table I, Bubble-sort: Delta",
        "Table I, row Bubble-sort, column Delta",
        "wmgr-table1/bubblesort:*-Delta",
    ),
    _of("Table I, Star: n", "Table I, row Star, column n", "wmgr-table1/star:*-n"),
    _of("Table I, Star: D", "Table I, row Star, column D", "wmgr-table1/star:*-D"),
    _of("Table I, Star: Delta", "Table I, row Star, column Delta", "wmgr-table1/star:*-Delta"),
    _of("Table I, Transposition: n", "Table I, row Transposition, column n", "wmgr-table1/transposition:*-n"),
    _of("Table I, Transposition: D", "Table I, row Transposition, column D", "wmgr-table1/transposition:*-D"),
    _of(
        "Table I, Transposition: Delta",
        "Table I, row Transposition, column Delta",
        "wmgr-table1/transposition:*-Delta",
    ),
    _of("Table I, Butterfly: n", "Table I, row Butterfly, column n", "wmgr-table1/butterfly:*-n"),
    _of("Table I, Butterfly: D", "Table I, row Butterfly, column D", "wmgr-table1/butterfly:*-D"),
    _of("Table I, Butterfly: Delta", "Table I, row Butterfly, column Delta", "wmgr-table1/butterfly:*-Delta"),
    _of(
        "Diff has as many states as a ball round the identity has nodes",
        "section V-D",
        "wmgr-statements/ball-*",
    ),
    _of("Permutation sort takes shortest paths", "section II", "wmgr-statements/sort-*"),
)
