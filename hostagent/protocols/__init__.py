"""The protocols that agents speak: AACM, labelling, link state, path probing."""
