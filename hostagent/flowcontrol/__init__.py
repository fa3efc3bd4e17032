"""Credit-based flow control: finite buffers, credits, the escape channel; pure."""
