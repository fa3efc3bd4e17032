"""The edge: processes, packet sockets, TUN devices, netlink."""
