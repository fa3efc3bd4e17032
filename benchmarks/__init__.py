"""Side-by-side benchmarks: each compares in one run with what a user would pick instead, and prints ratios.

python -m benchmarks              all of them, with their defaults
python -m benchmarks launch       one of them; its own options follow
"""
