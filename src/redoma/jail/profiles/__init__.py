"""The shipped levels, as YAML that a person can read and copy."""
