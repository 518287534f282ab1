"""Reads a component before it runs, for whoever is at the door."""

from redoma.judge.languages.component.validate import validate_component

__all__ = ["validate_component"]
