"""Releases the course and grades what students hand in; for instructors. Read autograder/README.md."""

import sys

# jsonschema, which nbformat needs, spends half of a worker's start on a grammar of internationalised web addresses
# when this package is there. No notebook has any to check; None makes the import fail, which jsonschema expects.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
