"""Which module handles which program, so that only what is needed is imported."""

from __future__ import annotations

_MODULES = {
    "wrappers": "sudo doas su pkexec env timeout nice nohup xargs",
    "shells": "bash sh dash zsh ksh mksh ash rbash fish csh tcsh",
    "files": "rm rmdir unlink cp mv ln install",
    "git": "git",
}

HANDLERS: dict[str, str] = {
    program: module for module, programs in _MODULES.items() for program in programs.split()
}
