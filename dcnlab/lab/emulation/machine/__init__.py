"""What this machine offers: its kernel, its programs, limits of processor time and memory."""
