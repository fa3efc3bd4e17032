"""What is measured in a running lab."""
