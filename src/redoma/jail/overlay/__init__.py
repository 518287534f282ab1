"""Transactions: an overlay takes what a command writes; it is read, applied whole, and undone.

A run: `placement` finds where an overlay can lie, `store` makes it, `changes` reads it.
Later: `transaction_store` remembers it, `apply` and `undo` move what it holds under `locks`, by the
steps of a `journal` that another process can bring to an end; `retention` lets the oldest go.
"""
