"""What several schemes are built on: coordinates, permutations, words, clusters, paths."""
