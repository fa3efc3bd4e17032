"""The tests: a package, because a dependency of Ryu installs another package of that name."""
