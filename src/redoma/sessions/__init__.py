"""Terminals in the jail that are watched, and typed into by leave: no HTTP is spoken here."""
