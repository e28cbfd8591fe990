"""Compile the simulator's counters once, so that a student's first profile does not wait for it."""

from course.simulator.observers import warm_up

if __name__ == "__main__":
    warm_up()
