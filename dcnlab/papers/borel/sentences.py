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
    _of("All Borel Cayley graphs have GCR labels", "Proposition 1", "borel-statements/proposition-1-*"),
    _of("All Borel Cayley graphs have CR labels", "Proposition 2", "borel-statements/proposition-2-*"),
    _of("The classes of GCR labels are congruent", "Proposition 4", "borel-statements/proposition-4-*"),
    _of("Looking ahead needs 2q = 2k constants", "section 4.1", "borel-statements/constants-*"),
    _of("Two-Phase routing stores (p - 1) D letters", "section 4.6", "borel-statements/letters-*"),
    _of("CR routing stores O(k)", "sections 1 and 5", "borel-statements/growth-cr"),
    _of("Two-Phase routing stores O(p + k)", "sections 1 and 5", "borel-statements/growth-twophase"),
    _of("Two-Phase routing finds a path in O(D)", "section 5", "borel-time/growth"),
    _of("Two-Phase routing finds a path in O(D^2) with O(p)", "section 5", "borel-time/growth-p"),
    _of("Looking ahead costs time", "section 4.7", "borel-time/look-ahead-*"),
    _of("Two-Phase routing's average path is close to D", "sections 4.7 and 5", "borel-statements/close-*"),
    _of("Vertex-transitive routing takes shortest paths", "section 4", "borel-statements/optimal-*"),
    _of("Figure 3 shows the averages of Tables 3 and 4", "Figure 3; section 4.7", "borel-fig3/*"),
    _of("The phases have diameters D1 <= D and D2 <= D", "sections 4.4 and 4.5", "borel-phases/*"),
    _of("A Borel Cayley graph has N = p k nodes", "section 2.2; section 4.7", "borel-labels/nodes-*"),
    _of("The first set of each table is the densest", "section 4.7", "borel-labels/first-*"),
    _of(
        "Equations 1 and 2 give the constants of the GCR",
        "section 3, Propositions 3 and 4",
        "borel-labels/equation-*",
    ),
    _of("Neighbouring CR labels form a Hamiltonian cycle", "sections 2.1 and 5", "borel-labels/hamiltonian-*"),
    _of(
        "Vertex-transitive routing stores O(N) at each node",
        "sections 4 and 5",
        "borel-labels/transitive-linear",
    ),
    _of("Phase I stores k x delta", "section 4.4", "borel-labels/phase-1-*"),
    _of(
        "CR routing has longer paths than Two-Phase routing in general", "section 4.7", "borel-labels/longer-*"
    ),
    _of(
        "Labels of toroidal meshes and hypercubes define shortest paths", "section 4", "borel-labels/defining-*"
    ),
    _of(
        "Toroidal meshes and hypercubes are less dense than Borel graphs",
        "sections 1 and 5",
        "borel-labels/denser-*",
    ),
    _of(
        "Borel Cayley graphs are the densest known of degree 4 for D = 7 to 13",
        "sections 2.2 and 5",
        "borel-labels/densest-known",
    ),
)
