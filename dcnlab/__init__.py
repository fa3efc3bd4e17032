"""dcnlab: run data-centre networks in which servers relay packets."""
