"""AACM (CLOT, section 4): servers configure their own addresses."""
