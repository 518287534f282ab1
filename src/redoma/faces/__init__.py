"""Every way in: translates to a request and from a result, and decides nothing itself."""
