"""Bright in the simulation: its own code over a loop, a disk and sockets of ours."""
