"""Pure forwarding: packets, frames, decisions, and the agent that takes them."""
