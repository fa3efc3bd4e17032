"""The process that serves a running lab."""
