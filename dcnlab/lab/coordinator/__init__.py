"""What decides in a lab and touches no namespace.

link_state/  which links are down, why, and who follows
"""
