"""dcnlab: run data-centre networks in which the servers relay packets.

cli/        the command line, ``dcnlab``
lab/        labs: real hosts, switches, controllers and agents on this machine
evaluator/  the same routing schemes offline, on fabrics of up to a million nodes
"""
