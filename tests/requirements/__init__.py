"""Which requirement is held by which tests, and whether they pass: `bin/test --requirements`."""
