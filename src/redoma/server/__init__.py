"""The console in the browser: pages, their programming interface, and the terminal's channel."""
