"""Releases the course and grades what students hand in; for instructors. Read autograder/README.md."""
