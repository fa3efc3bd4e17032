"""Address configuration and label learning in a lab."""
