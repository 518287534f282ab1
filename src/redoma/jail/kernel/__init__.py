"""The kernel's own interfaces; the only files that import ctypes."""
