"""The header fields that carry addresses and labels: IPv4, IPv6 and MAC addresses."""
