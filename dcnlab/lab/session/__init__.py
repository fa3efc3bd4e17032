"""The process that serves a running lab, and what answers requests in it."""
