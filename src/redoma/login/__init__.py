"""Logs a person in at a provider (OAuth 2.0, OpenID Connect) and keeps what it gives."""
