"""hostagent."""
