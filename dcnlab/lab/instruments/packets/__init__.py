"""Single packets: sent, received, followed.

echo.py            echo requests between many pairs of servers
packet_sockets.py  what the kernel tells of packet sockets
stream.py          numbered packets that show outages
taps.py            where echo requests and replies really pass
sockets.py         receive buffers
"""
