"""The header fields that carry addresses and labels: ipv4.py, ipv6.py and mac.py; checksum.py."""
