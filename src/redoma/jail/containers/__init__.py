"""Containers of Docker Engine and Podman: their life, what holds in them, and their streams."""
