"""The nouns that every room speaks: frozen values, ordered enums, errors."""
