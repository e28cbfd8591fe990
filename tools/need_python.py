"""Stop with one clear sentence when this Python is not one the pinned versions exist for."""

import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    sys.exit(
        f"This is Python {sys.version.split()[0]}; the course's pinned versions are for Python 3.11 to 3.13. "
        "Name another one: make PYTHON=python3.12 ..."
    )
