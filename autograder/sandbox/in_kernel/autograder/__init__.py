"""What a student's process sees of the grader: this folder, and nothing of the real package."""
