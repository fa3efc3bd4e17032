"""Services: programs that a lab runs in its hosts until it ends, with a log each.

service.py    one service in one host: its process, its log, whether it is ready
readiness.py  what makes a service ready: a port, a line of its log, its exit
services.py   all services of a lab
sshd.py       sshd in every host, with a key of the lab's own
"""
