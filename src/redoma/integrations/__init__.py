"""Redoma's sandbox as tools of agent frameworks; each module needs its framework and no other."""
