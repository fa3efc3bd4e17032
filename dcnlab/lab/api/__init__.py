"""The northbound interface of a running lab: HTTP with JSON, and its events as a stream.

app.py         the web application: the resources below a secret token
security.py    who is let in: token, Host, Origin; the headers of every response
resources.py   what each request returns
state.py       what changes: links, counters, queues, buffers
asked.py       requests that follow from the classes of operations and measurements
routing.py     what a scheme has decided: labels, table sizes, clusters, trees, parallel paths
actions.py     scenarios, captures
terminals.py   terminals in nodes
endpoint.py    the description of a request, from which follow the routes and the OpenAPI document
openapi.py     the OpenAPI document
schemas.py     JSON schemas of the arguments of measurements
page.py        the same for people: one page without assets from elsewhere
stream.py      events and counters as server-sent events, read once for all clients
listening.py   where it listens: a port of 127.0.0.1 or a Unix socket
server.py      serves an application there
"""
