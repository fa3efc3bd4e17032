# The same commands as the Makefile's, for those who prefer just.
default:
    @just --list

setup:
    make setup

demo:
    make demo

test:
    make test

check:
    make check

bench:
    make bench

vm-test:
    make vm-test
